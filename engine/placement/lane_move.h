#pragma once

#include "graph/delta.h"

#include <map>
#include <set>

namespace twb {

/// Moves nodes to lanes, with the parameters that are folded into them, as `model.to(device)` does. What the
/// host reads (shapes, axes, and what these are computed from) does not go to a GPU: it stays where it is,
/// and a source that ops on the GPU read as well is created on both. Other values that the host needs are
/// brought back by a To. Where nothing else is asked for, such values are moved all the same. Gives the nodes
/// that were moved; positions are the caller's business.
std::set<NodeId> moveToLanes(DeltaBuilder& builder, const std::map<NodeId, LaneId>& wanted);

} // namespace twb
