#pragma once

#include "graph/delta.h"
#include "placement/placement_model.h"

#include <string>

namespace twb {

/// Moves node i of `model` to its place at[i], an index of model.devices(), and copies each tensor by one To
/// node per device of its consumers. Of the To nodes that the model does not place (isLookedThrough), those
/// still needed are reconnected and the others are removed; missing To nodes are inserted. `files` may be
/// null.
Delta placementDelta(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const PlacementModel& model, const std::vector<int>& at,
                     std::string title);

} // namespace twb
