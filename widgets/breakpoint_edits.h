#pragma once

#include "graph/delta.h"

#include <QString>

#include <map>
#include <optional>
#include <set>

namespace twb {

/// Gives these nodes a breakpoint, or takes theirs away. One undo step.
Delta setBreakpoint(const Graph& graph, const std::set<NodeId>& nodes,
                    const std::optional<Breakpoint>& breakpoint);
/// The same; takes it away where all of them have just that one, whether it is enabled or not.
Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint);
/// Enables or disables those that there are.
Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled);
/// All of a graph.
std::map<NodeId, Breakpoint> breakpointsOf(const Graph& graph);
/// "after it", "when max > 3".
QString breakpointText(const Breakpoint& breakpoint);

} // namespace twb
