#pragma once

#include "graph/delta.h"

#include <vector>

namespace twb {

/// Gives nodes that were just added, and that draw random numbers, a seed of their own, so that two of them
/// do not draw the same numbers. The seed is the node's id: it stands in the file, and a run stays a function
/// of that.
void giveFreshSeeds(DeltaBuilder& builder, const std::vector<NodeId>& added);

} // namespace twb
