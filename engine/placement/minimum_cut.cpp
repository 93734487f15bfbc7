#include "placement/minimum_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>

namespace twb {
namespace {

/// Larger than any sum of costs, and small enough to be added.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 1024;

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Vertex = boost::property<
    boost::vertex_index_t, std::size_t,
    boost::property<boost::vertex_color_t, boost::default_color_type,
                    boost::property<boost::vertex_distance_t, long,
                                    boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>>;
using Edge =
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>;
using Flow = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Edge>;

} // namespace

void MinimumCut::addCost(int vertex, bool onFirst, std::int64_t cost) {
    Costs& costs = m_costs[static_cast<std::size_t>(vertex)];
    (onFirst ? costs.onFirst : costs.onSecond) += cost;
}

void MinimumCut::addApart(int one, int other, bool onFirst, std::int64_t cost) {
    if (onFirst)
        m_arcs.push_back({one, other, cost});
    else
        m_arcs.push_back({other, one, cost});
}

void MinimumCut::follow(int leader, int follower, bool onFirst) {
    addApart(leader, follower, onFirst, kNever);
}

std::vector<bool> MinimumCut::solve() const {
    const std::size_t vertices = m_costs.size();
    const std::size_t first = vertices;
    const std::size_t second = vertices + 1;
    Flow flow(vertices + 2);
    auto capacity = get(boost::edge_capacity, flow);
    auto reverse = get(boost::edge_reverse, flow);
    const auto add = [&](std::size_t from, std::size_t to, std::int64_t cost) {
        const auto there = add_edge(from, to, flow).first;
        const auto back = add_edge(to, from, flow).first;
        capacity[there] = cost;
        capacity[back] = 0;
        reverse[there] = back;
        reverse[back] = there;
    };
    // One arc per vertex to a terminal, on the more expensive side: the algorithm uses only the first one.
    for (std::size_t v = 0; v < vertices; ++v) {
        const std::int64_t more = m_costs[v].onSecond - m_costs[v].onFirst;
        if (more > 0) add(first, v, more);
        if (more < 0) add(v, second, -more);
    }
    for (const Arc& arc : m_arcs)
        add(static_cast<std::size_t>(arc.from), static_cast<std::size_t>(arc.to), arc.cost);
    boost::boykov_kolmogorov_max_flow(flow, first, second);
    std::vector<bool> out;
    const auto color = get(boost::vertex_color, flow);
    for (std::size_t v = 0; v < vertices; ++v) out.push_back(color[v] == boost::black_color);
    return out;
}

} // namespace twb
