#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace twb {

/// Where the nodes of a training module start on the canvas: right of the forward nodes, at the height of the
/// highest one.
Position besideForward(const Graph& graph);

/// Adds the backward pass of a loss in reverse mode: nodes in `frame` that compute its gradients. The loss is
/// an output of one element. Each node is on the lane of the forward node whose gradient it computes
/// (Node::forward), and is named after it. The backward pass of a copy between devices is a copy in the
/// opposite direction.
///
/// The gradient of the loss with respect to itself is `share`, times `seed` if given: a number that scales
/// all gradients.
///
/// Returns the output that is the gradient, by parameter; a parameter is the first output of its node.
/// `analysis`: of the builder's graph. Throws Error(badGraph) that names the node: if the loss is not a
/// floating-point scalar, if a parameter does not reach it, or if an op on the way has no gradient or sizes
/// that are known only at run time.
std::vector<PortRef> addBackward(DeltaBuilder& builder, const Analysis& analysis, PortRef loss,
                                 std::span<const NodeId> parameters, FrameId frame,
                                 std::optional<PortRef> seed = std::nullopt, double share = 1);

/// The nodes on whose floating tensors a node depends, and the node itself.
std::unordered_set<NodeId> upstreamOf(const Analysis& analysis, NodeId node);

} // namespace twb
