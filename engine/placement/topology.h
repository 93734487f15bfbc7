#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <vector>

namespace twb {

/// A graph's nodes by dense index, in id order, with the edges as indices: what the rules iterate over.
struct Topology {
    explicit Topology(const Graph& graph);

    std::vector<const Node*> nodes;
    std::vector<const Links*> links; ///< parallel to nodes
    std::vector<std::uint32_t>
        order; ///< indices; each node after its inputs; nodes on or behind cycles are left out
    std::vector<std::vector<std::uint32_t>> cycles; ///< the strongly connected parts with an edge inside

    std::uint32_t indexOf(NodeId id) const noexcept;
};

} // namespace twb
