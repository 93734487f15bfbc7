#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/assignment.h"

#include <vector>

namespace twb {

/// A change that removes all device mismatches.
struct FixSet {
    /// The changes as sentences, with the price of each copy. Empty if there are no mismatches.
    std::vector<Fix> fixes;
    Delta delta; ///< the complete change
    /// The predicted sum of all steps and copies of one iteration after the change.
    double ns = 0;
    double insertingNs = 0; ///< the same with a To on every mismatched edge instead
    double atLeastNs = 0;   ///< lower bound for any such change
    bool isExact = false;   ///< no other set takes less
};

/// The change that removes all device mismatches of a graph and minimises the predicted time. Each node at an
/// end of such an edge stays or moves to the device at the other end, unless it is pinned; a tensor is then
/// copied once to each device of its consumers. Redundant To nodes, and To nodes without consumers, are
/// removed. Exact for two devices, and for up to kExactItems nodes (assignment.h). Throws Error(cancelled)
/// soon after `isCancelled` returns true.
FixSet minimalFixSet(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const IsCancelled& isCancelled = {});

} // namespace twb
