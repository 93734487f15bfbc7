#pragma once

#include "placement/analysis.h"

#include <vector>

namespace twb {

/// Fixes that together leave no operand on a wrong device.
struct FixSet {
    std::vector<Fix> fixes; ///< in the order in which toDelta takes them
    /// What all steps and copies of one iteration take with them, one after the other, by the profiles.
    double ns = 0;
    double insertingNs = 0; ///< the same, were a To put on every such edge instead
    double atLeastNs = 0;   ///< no such set leaves less
    bool isExact = false;   ///< this is the least
};

/// The fixes with the fewest predicted milliseconds that mend all device mismatches of a graph: each node at
/// an end of such an edge stays, or goes to the device at the other end, unless it is pinned; what crosses
/// then is copied once to each device. Exact with two devices, and for up to kExactItems nodes
/// (assignment.h). No fixes where nothing is on a wrong device.
FixSet minimalFixSet(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files);

} // namespace twb
