#pragma once

#include "graph/delta.h"
#include "graph/diagnostic.h"
#include "placement/analysis.h"

#include <vector>

namespace twb {

/// Fixes without a predicted cost. Their titles use the names of the nodes in `graph`.
Fix moveFix(const Graph& graph, NodeId node, Device device);
Fix disconnectFix(const Graph& graph, const Edge& edge);

/// The first lane of a device; if there is none, a lane is added at the bottom.
LaneId laneOf(DeltaBuilder& builder, Device device);

/// The change of a fix for the current `graph`. Throws Error(badGraph) if its node or edge no longer exists.
Delta toDelta(const Graph& graph, const Fix& fix);

/// Combines `fixes` into one change. Each moved node also gets a To node for every operand that would be on a
/// wrong device only because of the move. A fix that an earlier one has made invalid is left out. If `fixes`
/// holds one fix only and it is invalid, throws Error(badGraph), as toDelta does. `analysis` is the analysis
/// of `graph`.
Delta combineFixes(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                   const std::vector<Fix>& fixes, std::string title);

/// Applies exactly these fixes as one change; fixes that no longer apply after earlier ones are left out.
Delta toDelta(const Graph& graph, const std::vector<Fix>& fixes, std::string title);

/// Moves nodes to a lane; adds a lane of `device` if there is none. They keep their positions or, if these
/// are occupied, their relative positions.
void moveToDevice(DeltaBuilder& builder, const std::vector<NodeId>& nodes, Device device);
Delta moveToDevice(const Graph& graph, const std::vector<NodeId>& nodes, Device device);

} // namespace twb
