#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/assignment.h"

#include <functional>
#include <string>
#include <vector>

namespace twb {

/// Nodes that move to another device together, because the edges between them would otherwise be copied.
struct PlacementMove {
    std::vector<NodeId> nodes;
    Device from, to;
    int copies = 0;     ///< additional copies per iteration; negative: fewer
    double copyNs = 0;  ///< additional time of copies
    double stepNs = 0;  ///< additional time of these nodes' steps
    std::string reason; ///< "Shape and Gather to cpu: removes 3 copies"
};

/// Proposed lanes for the nodes that may move.
struct PlacementProposal {
    std::vector<PlacementMove> moves; ///< the largest gain first; empty: no better placement
    Delta delta;                      ///< the moves, with added and removed To nodes
    double nsNow = 0;                 ///< the sum of all steps and copies of an iteration; see assignment.h
    double ns = 0;                    ///< the same with the moves
    double atLeastNs = 0;             ///< lower bound for any placement
    bool isExact = false;
};

/// Predicts the time of one iteration of a graph, with overlap, in ns (profile/prediction.h).
using IterationNs = std::function<double(const Graph&)>;

/// The lanes' devices for the graph's nodes on which all steps and copies of an iteration take the least
/// predicted time, within the devices' memories. Pinned nodes, nodes in the bodies of If, Loop and Scan, and
/// nodes without a kernel elsewhere stay. If the analysis' policy inserts no copies, To nodes are inserted.
/// With `iterationNs`, moves without which an iteration would be shorter are left out. Throws
/// Error(cancelled) soon after `isCancelled` returns true.
PlacementProposal proposePlacement(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                   const TensorFiles* files, const IterationNs& iterationNs = {},
                                   const IsCancelled& isCancelled = {});

} // namespace twb
