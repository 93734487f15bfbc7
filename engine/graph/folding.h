#pragma once

#include "graph/delta.h"

#include <optional>
#include <vector>

namespace twb {

/// Ports from here on show no folded node.
inline constexpr int kMostFoldedPorts = 64;

/// The input that a node may be folded into: that of its only reader. Nothing for an op that is no source,
/// for an Input, which is no parameter, for one with several readers or none, and for one that feeds a To,
/// which is a copy and has no parameters.
std::optional<PortRef> foldTarget(const Graph& graph, NodeId node);
/// The input that it is folded into now. Node::folded alone does not do: an edit may have taken its reader.
std::optional<PortRef> foldedInto(const Graph& graph, const Node& node);
/// The nodes that are folded into this one, by input port.
std::vector<NodeId> foldedIn(const Graph& graph, NodeId reader);
/// The node as which it is drawn and moved: its reader where it is folded, else itself.
NodeId cardOf(const Graph& graph, NodeId node);

/// Folds what can be folded among `nodes` and among what they read.
Delta fold(const Graph& graph, const std::vector<NodeId>& nodes);
/// Shows folded nodes as cards again, on their lanes, left of what reads them. Of a node that is not folded,
/// those that are folded into it.
Delta unfold(const Graph& graph, const std::vector<NodeId>& nodes);

/// Nodes, and what is folded into them.
std::vector<NodeId> withFolded(const Graph& graph, const std::vector<NodeId>& nodes);
/// A node and what goes with it to a device: the parameters that are folded into it, but for values that the
/// host reads when it goes to a GPU.
std::vector<NodeId> movedWith(const Graph& graph, NodeId node, Device device);
/// Puts a node on a lane, and with it the parameters that are folded into it: all but a value that the host
/// reads (a shape, axes), which stays where it is when its reader goes to a GPU.
void moveToLane(DeltaBuilder& builder, NodeId node, LaneId lane);

} // namespace twb
