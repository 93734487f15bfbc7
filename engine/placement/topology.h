#pragma once

#include "graph/bodies.h"

#include <cstdint>
#include <vector>

namespace twb {

/// A graph's nodes by dense index, in id order, with edges as indices, for fast iteration.
struct Topology {
    Topology(const Graph& graph, const Bodies& bodies);

    std::vector<const Node*> nodes;
    std::vector<const Links*> links; ///< parallel to nodes
    std::vector<std::uint32_t>
        order; ///< indices in topological order (inputs and bodies first), without nodes on or behind cycles
    static constexpr std::uint32_t kNobody = 0xffffffff;
    /// By node: the owner of the innermost body that contains it, or kNobody. Empty for a graph without
    /// bodies.
    std::vector<std::uint32_t> owners;
    std::vector<std::vector<std::uint32_t>> cycles; ///< the strongly connected components with an inner edge

    std::uint32_t indexOf(NodeId id) const noexcept;
    std::uint32_t ownerOf(std::uint32_t node) const noexcept {
        return owners.empty() ? kNobody : owners[node];
    }
};

} // namespace twb
