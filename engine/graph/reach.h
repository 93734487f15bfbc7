#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace twb {

enum class Reach : std::uint8_t {
    upstream,   ///< all that it is made from
    downstream, ///< all that is made from it
    connected   ///< both, and so on from there
};

/// The nodes that wires lead to, from any of `start`, which is included. Linear in what is found.
std::unordered_set<NodeId> reach(const Graph& graph, const std::vector<NodeId>& start, Reach way);

} // namespace twb
