#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb {

/// Vertices that stand on one of two sides each, at the least cost: a minimum cut. Costs are not negative.
class MinimumCut {
public:
    int addVertex() {
        m_costs.emplace_back();
        return vertexCount() - 1;
    }
    int vertexCount() const noexcept { return static_cast<int>(m_costs.size()); }
    /// What a vertex costs on the first side, or on the second.
    void addCost(int vertex, bool onFirst, std::int64_t cost);
    /// What it costs that `one` stands on the first side (second, if not `onFirst`) and `other` opposite.
    void addApart(int one, int other, bool onFirst, std::int64_t cost);
    /// Where `leader` stands on the first side (second, if not `onFirst`), `follower` stands there, too.
    void follow(int leader, int follower, bool onFirst);
    /// Whether each vertex stands on the first side.
    std::vector<bool> solve() const;

private:
    struct Arc {
        int from, to; ///< cut, and paid for, when `from` is on the first side and `to` on the second
        std::int64_t cost;
    };
    struct Costs {
        std::int64_t onFirst = 0, onSecond = 0;
    };
    std::vector<Costs> m_costs; ///< by vertex
    std::vector<Arc> m_arcs;
};

} // namespace twb
