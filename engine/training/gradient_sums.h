#pragma once

#include "backends/device_map.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <span>
#include <string_view>
#include <vector>

namespace twb {

/// The lane on which a call over ranks is made for a tensor on the lane `own`: this one or, if its device
/// cannot make the call itself, the first one of the cpu.
LaneId laneForRanks(const Graph& graph, const DeviceMap& devices, LaneId own, std::string_view op,
                    DType dtype);

/// Adds the AllReduce nodes that sum the gradients of the devices' world, in `frame`: the first takes 1 MB of
/// gradients, each later one 25 MB, in the order in which the backward pass computes them, so that they can
/// run while it goes on. On a device without a kernel for AllReduce, the gradients are copied to the cpu and
/// back. `parameters`: by gradient. `analysis`: of the forward graph. Returns the sums; with one rank,
/// `gradients`.
std::vector<PortRef> sumOverRanks(DeltaBuilder& builder, const Analysis& analysis, const DeviceMap& devices,
                                  std::span<const PortRef> gradients, std::span<const NodeId> parameters,
                                  FrameId frame);

} // namespace twb
