#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace twb {

enum class Reach : std::uint8_t {
    upstream,   ///< all ancestors
    downstream, ///< all descendants
    connected   ///< both, transitively
};

/// The nodes reached from any node of `start`, including `start`. Linear in the result.
std::unordered_set<NodeId> reach(const Graph& graph, const std::vector<NodeId>& start, Reach way);

} // namespace twb
