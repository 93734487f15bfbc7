#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/assignment.h"

#include <vector>

namespace twb {

/// A change that leaves no operand on a wrong device.
struct FixSet {
    /// What the change does, in words and with the price of each copy. Empty: nothing is on a wrong device.
    std::vector<Fix> fixes;
    Delta delta; ///< all of it
    /// What all steps and copies of one iteration take afterwards, one after the other, by the profiles.
    double ns = 0;
    double insertingNs = 0; ///< the same with a To on every such edge instead
    double atLeastNs = 0;   ///< no such change leaves less
    bool isExact = false;   ///< no set is better
};

/// The change with the fewest predicted milliseconds that mends all device mismatches of a graph: each node
/// at an end of such an edge stays, or goes to the device at the other end, unless it is pinned; a tensor is
/// then copied once to each device that reads it. To nodes that copy the same, or that nobody reads any more,
/// are removed. Exact with two devices, and for up to kExactItems nodes (assignment.h). Throws
/// Error(cancelled) soon after `isCancelled` says so.
FixSet minimalFixSet(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const IsCancelled& isCancelled = {});

} // namespace twb
