#pragma once

#include "graph/delta.h"

#include <map>
#include <set>

namespace twb {

/// Moves nodes to lanes with the parameters that are folded into them, as `model.to(device)` does. Host
/// values (shapes, axes, and the sources from which they are computed) do not move to a GPU. A source that
/// ops on the GPU read, too, is created on both devices. For a GPU of another rank, host values move to the
/// cpu of that rank. Other host values are copied back by a To. If only host values are moved, they move as
/// requested. Returns the moved nodes; the caller sets positions.
std::set<NodeId> moveToLanes(DeltaBuilder& builder, const std::map<NodeId, LaneId>& wanted);

} // namespace twb
