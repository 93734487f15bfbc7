#pragma once

#include "graph/delta.h"
#include "placement/placement_model.h"

#include <string>

namespace twb {

/// The change that moves the nodes of a model to the places `at`. Each tensor is copied by one To per device
/// of its consumers: To nodes that the model looks through are reconnected, unused ones removed, and missing
/// ones inserted.
Delta placementDelta(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const PlacementModel& model, const std::vector<int>& at,
                     std::string title);

} // namespace twb
