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

/// Gives these nodes a breakpoint beside those that they have. One undo step.
Delta addBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint);
/// The same; takes it away where all of them have it, whether it is enabled or not.
Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint);
/// Puts another one in the place of a node's.
Delta changeBreakpoint(const Graph& graph, const NodeBreakpoint& before, const Breakpoint& after);
Delta removeBreakpoints(const Graph& graph, const std::vector<NodeBreakpoint>& breakpoints);
/// Enables or disables all that these nodes have.
Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled);
/// Those of the nodes that have any.
std::map<NodeId, Breakpoints> breakpointsOf(const Graph& graph);
/// The same, one by one.
std::vector<NodeBreakpoint> allBreakpoints(const Graph& graph);
/// Whether it has such a one, enabled or not.
bool hasBreakpoint(const Node& node, const Breakpoint& breakpoint);
/// "after it", "when max > 3", "before it, when max of an input > 3".
QString breakpointText(const Breakpoint& breakpoint);

} // namespace twb
