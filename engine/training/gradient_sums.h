#pragma once

#include "backends/device_map.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <span>
#include <vector>

namespace twb {

/// Adds the AllReduce nodes that sum the gradients of the devices' world, in `frame`: the first takes 1 MB of
/// gradients, each later one 25 MB, in the order in which the backward pass computes them, so that they can
/// run while it goes on. On a device without a kernel for AllReduce, the gradients are copied to the cpu and
/// back. `parameters`: by gradient. `analysis`: of the forward graph. Returns the sums; with one rank,
/// `gradients`.
std::vector<PortRef> sumOverRanks(DeltaBuilder& builder, const Analysis& analysis, const DeviceMap& devices,
                                  std::span<const PortRef> gradients, std::span<const NodeId> parameters,
                                  FrameId frame);

} // namespace twb
