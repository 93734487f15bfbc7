#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb {

/// Assigns vertices to two sides at the least cost: a minimum cut. Costs must not be negative.
class MinimumCut {
public:
    int addVertex() {
        m_costs.emplace_back();
        return vertexCount() - 1;
    }
    int vertexCount() const noexcept { return static_cast<int>(m_costs.size()); }
    /// Adds a cost of a vertex on the first side (the second, if not `onFirst`).
    void addCost(int vertex, bool onFirst, std::int64_t cost);
    /// Adds a cost of `one` on the first side (the second, if not `onFirst`) with `other` on the opposite
    /// side.
    void addApart(int one, int other, bool onFirst, std::int64_t cost);
    /// If `leader` is on the first side (the second, if not `onFirst`), `follower` must be, too.
    void follow(int leader, int follower, bool onFirst);
    /// By vertex: whether it is on the first side.
    std::vector<bool> solve() const;

private:
    struct Arc {
        int from, to; ///< the edge is cut if `from` is on the first side and `to` on the second
        std::int64_t cost;
    };
    struct Costs {
        std::int64_t onFirst = 0, onSecond = 0;
    };
    std::vector<Costs> m_costs; ///< by vertex
    std::vector<Arc> m_arcs;
};

} // namespace twb
