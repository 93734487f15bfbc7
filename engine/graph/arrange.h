#pragma once

#include "graph/delta.h"

#include <vector>

namespace twb {

/// Moves nodes to a layered layout from left to right, by their edges; all of them within the lanes on which
/// they stand, modules kept together. The top left of the whole comes to stand at `origin`. Nodes that are
/// folded into others take no part. Wires between them lose their dots.
Delta arrange(const Graph& graph, const std::vector<NodeId>& nodes, Position origin);

} // namespace twb
