#pragma once

#include "graph/bodies.h"

#include <cstdint>
#include <vector>

namespace twb {

/// A graph's nodes by dense index, in id order, with the edges as indices: what the rules iterate over.
struct Topology {
    Topology(const Graph& graph, const Bodies& bodies);

    std::vector<const Node*> nodes;
    std::vector<const Links*> links; ///< parallel to nodes
    std::vector<std::uint32_t>
        order; ///< indices; each node after its inputs and bodies; those on or behind cycles are left out
    static constexpr std::uint32_t kNobody = 0xffffffff;
    /// By node: the owner of the body that it stands in, or kNobody. Empty for a graph without bodies.
    std::vector<std::uint32_t> owners;
    std::vector<std::vector<std::uint32_t>> cycles; ///< the strongly connected parts with an edge inside

    std::uint32_t indexOf(NodeId id) const noexcept;
    std::uint32_t ownerOf(std::uint32_t node) const noexcept {
        return owners.empty() ? kNobody : owners[node];
    }
};

} // namespace twb
