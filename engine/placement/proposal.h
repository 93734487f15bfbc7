#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/assignment.h"

#include <functional>
#include <string>
#include <vector>

namespace twb {

/// Nodes that go from one device to another together, since what joins them would have to be copied else.
struct PlacementMove {
    std::vector<NodeId> nodes;
    Device from, to;
    int copies = 0;     ///< in an iteration, more or (negative) fewer than if these stayed
    double copyNs = 0;  ///< what these take, more or less
    double stepNs = 0;  ///< what the steps of these nodes take, more or less
    std::string reason; ///< "Shape and Gather to cpu: removes 3 copies"
};

/// Lanes for the nodes that may move.
struct PlacementProposal {
    std::vector<PlacementMove> moves; ///< the most telling one first; none: nothing is better
    Delta delta;          ///< the moves, the To nodes that they need, and without those they do not
    double nsNow = 0;     ///< all steps and copies of an iteration, one after the other: see assignment.h
    double ns = 0;        ///< the same with the moves
    double atLeastNs = 0; ///< no placement takes less
    bool isExact = false;
};

/// What an iteration of a graph is predicted to take with all that overlaps, in ns (profile/prediction.h).
using IterationNs = std::function<double(const Graph&)>;

/// The devices of the graph's lanes for its nodes on which all steps and copies of an iteration take the
/// least predicted time, within the devices' memories. Pinned nodes, nodes in the bodies of If, Loop and
/// Scan, and nodes without a kernel elsewhere stay. Copies are made explicit where the analysis' policy makes
/// none. With `iterationNs`, moves without which an iteration would be shorter are left out. Throws
/// Error(cancelled) soon after `isCancelled` says so.
PlacementProposal proposePlacement(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                   const TensorFiles* files, const IterationNs& iterationNs = {},
                                   const IsCancelled& isCancelled = {});

} // namespace twb
