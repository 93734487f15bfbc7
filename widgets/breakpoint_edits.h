#pragma once

#include "graph/delta.h"

#include <QString>

#include <map>
#include <set>
#include <vector>

namespace twb {

/// One breakpoint of a node.
struct NodeBreakpoint {
    NodeId node = NodeId::none;
    Breakpoint breakpoint;
    bool operator==(const NodeBreakpoint&) const = default;
};

/// Adds a breakpoint to these nodes. One undo step.
Delta addBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint);
/// The same, but removes it if all nodes have it, enabled or not.
Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint);
/// Replaces a breakpoint of a node.
Delta changeBreakpoint(const Graph& graph, const NodeBreakpoint& before, const Breakpoint& after);
Delta removeBreakpoints(const Graph& graph, const std::vector<NodeBreakpoint>& breakpoints);
/// Enables or disables all breakpoints of these nodes.
Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled);
/// The nodes that have breakpoints.
std::map<NodeId, Breakpoints> breakpointsOf(const Graph& graph);
/// All breakpoints, one by one.
std::vector<NodeBreakpoint> allBreakpoints(const Graph& graph);
/// Whether the node has such a breakpoint, enabled or not.
bool hasBreakpoint(const Node& node, const Breakpoint& breakpoint);
/// "after the node", "when max > 3", "before the node, when max of an input > 3".
QString breakpointText(const Breakpoint& breakpoint);

} // namespace twb
