#pragma once

#include "graph/delta.h"

#include <optional>
#include <vector>

namespace twb {

// Folding is a matter of drawing: a folded source is a row on the card of its only consumer instead of a card
// of its own. Folding changes neither the graph's results nor its steps.

/// Ports from this index on show no folded node.
inline constexpr int kMostFoldedPorts = 64;

/// The input into which a node may be folded: the input of its only consumer. Nothing for an op that is not a
/// source, for an Input (not a parameter), for a node without exactly one consumer outside the training, and
/// for the input of a To.
std::optional<PortRef> foldTarget(const Graph& graph, NodeId node);
/// The input into which the node is folded now. Node::folded is not enough: an edit may have removed the
/// consumer.
std::optional<PortRef> foldedInto(const Graph& graph, const Node& node);
/// The nodes that are folded into this one, by input port.
std::vector<NodeId> foldedIn(const Graph& graph, NodeId reader);
/// The node whose card shows this node: its consumer if it is folded, else the node itself.
NodeId cardOf(const Graph& graph, NodeId node);

/// Folds all foldable nodes among `nodes` and their sources.
Delta fold(const Graph& graph, const std::vector<NodeId>& nodes);
/// Turns folded nodes into cards again, on their lanes, left of their consumers. For a node that is not
/// folded, unfolds the nodes that are folded into it.
Delta unfold(const Graph& graph, const std::vector<NodeId>& nodes);

/// The nodes, and the nodes that are folded into them.
std::vector<NodeId> withFolded(const Graph& graph, const std::vector<NodeId>& nodes);
/// The nodes that move to `device` together with a node: the node itself and the parameters folded into it.
/// If `device` is a GPU, values that the host reads are left out.
std::vector<NodeId> movedWith(const Graph& graph, NodeId node, Device device);
/// Moves a node to a lane, together with the parameters that are folded into it. Values that the host reads
/// (a shape, axes) stay on their lane.
void moveToLane(DeltaBuilder& builder, NodeId node, LaneId lane);

} // namespace twb
