#pragma once

#include "graph/delta.h"

#include <vector>

namespace twb {

/// Gives newly added nodes that draw random numbers different seeds, so that no two of them draw the same
/// numbers. The seed is the node's id; it is stored in the file, so runs are reproducible.
void giveFreshSeeds(DeltaBuilder& builder, const std::vector<NodeId>& added);

} // namespace twb
