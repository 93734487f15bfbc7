#pragma once

#include "graph/delta.h"

#include <vector>

namespace twb {

/// Gives nodes that were put on edges their places: each left of what reads it and right of what it reads,
/// in line with the reader's port where that is on the same lane. Where there is no room between the two, the
/// reader and all cards, notes and dots behind it move to the right together.
void makeRoom(DeltaBuilder& builder, const std::vector<NodeId>& added);

} // namespace twb
