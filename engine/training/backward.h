#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"

#include <span>
#include <vector>

namespace twb {

/// The backward pass of a graph, in reverse mode: nodes that compute the gradients of a loss.
struct Backward {
    /// Adds the nodes in a collapsed frame. Each stands on the lane of the forward node whose gradient it
    /// computes, and is named after it. A gradient goes back over a copy by a copy.
    Delta delta;
    std::vector<PortRef> gradients; ///< by parameter: the output that is its gradient
};

/// The backward pass from a loss, an output of one element, to the first outputs of `parameters`. `analysis`:
/// of this graph. Throws Error(badGraph) that names the node: if the loss is no floating number, if a
/// parameter does not reach it, or if an op on the way has no gradient or sizes that are known only at run
/// time.
Backward makeBackward(const Graph& graph, const Analysis& analysis, PortRef loss,
                      std::span<const NodeId> parameters);

} // namespace twb
