#pragma once

#include "graph/delta.h"
#include "placement/placement_model.h"

#include <string>

namespace twb {

/// The change that puts the nodes of a model on the places `at`. Tensors are brought to where they are read
/// by one To for each (tensor, device): To nodes that the model looks through are connected anew, those
/// that nobody needs any more are removed, and missing ones are inserted.
Delta placementDelta(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const PlacementModel& model, const std::vector<int>& at,
                     std::string title);

} // namespace twb
