#pragma once

#include "graph/delta.h"
#include "graph/layered_layout.h"

#include <vector>

namespace twb {

/// Moves nodes to a layered layout from left to right along their edges. Nodes stay on their lanes, and
/// modules stay together. A collapsed module takes the place of its card; its nodes are arranged within, and
/// may overlap with others once it is expanded. The top left corner of the result is at `origin`. Folded
/// nodes do not count. Wires between the nodes lose their dots. `mostPassed`: see layeredLayout().
Delta arrange(const Graph& graph, const std::vector<NodeId>& nodes, Position origin,
              int mostPassed = kMostPassed);

} // namespace twb
