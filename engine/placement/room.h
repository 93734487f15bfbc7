#pragma once

#include "graph/delta.h"

#include <vector>

namespace twb {

/// Positions nodes that were inserted into edges: each to the left of its consumers and to the right of its
/// source, level with the consumer's port if that is on the same lane. If there is no room between the two,
/// the consumer and all cards, notes and dots to its right are shifted together.
void makeRoom(DeltaBuilder& builder, const std::vector<NodeId>& added);

} // namespace twb
