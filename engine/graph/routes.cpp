#include "graph/routes.h"

#include "graph/card_size.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace twb {
namespace {

/// Positions of several lanes on one plane. The drawn heights of lanes are unknown here. It is enough that
/// another lane is farther away than any point of this lane.
class Plane {
public:
    explicit Plane(const Graph& graph) : m_graph(graph) {
        constexpr double kLane = 400;
        double top = 0;
        for (const Lane& lane : graph.lanesInOrder()) {
            m_tops[lane.id] = top;
            top += kLane;
        }
    }
    Position at(LaneId lane, Position in) const { return {in.x, m_tops.at(lane) + in.y}; }
    Position middleOf(NodeId id) const {
        const Node& node = *m_graph.find(id);
        const CardSize size = cardSizeOf(m_graph, node);
        return at(node.lane, {node.position.x + size.width / 2, node.position.y + size.height / 2});
    }

private:
    const Graph& m_graph;
    std::unordered_map<LaneId, double> m_tops;
};

double distance(Position a, Position b) { return std::hypot(a.x - b.x, a.y - b.y); }

} // namespace

std::size_t leastDetour(std::span<const Position> way, Position put) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        const double longer =
            distance(way[i], put) + distance(put, way[i + 1]) - distance(way[i], way[i + 1]);
        if (longer < least) best = i;
        least = std::min(least, longer);
    }
    return best;
}

std::ptrdiff_t dotsBefore(const Graph& graph, const Edge& wire, NodeId node) {
    const std::vector<Dot>& dots = graph.dots(wire.to);
    if (dots.empty()) return 0;
    const Plane plane(graph);
    std::vector<Position> way{plane.middleOf(wire.from.node)};
    for (const Dot& dot : dots) way.push_back(plane.at(dot.lane, dot.position));
    way.push_back(plane.middleOf(wire.to.node));
    return static_cast<std::ptrdiff_t>(leastDetour(way, plane.middleOf(node)));
}

void putInto(DeltaBuilder& builder, const Edge& wire, PortRef input, PortRef output) {
    const std::vector<Dot> dots = builder.graph().dots(wire.to);
    const auto before = dots.begin() + dotsBefore(builder.graph(), wire, input.node);
    builder.connect({wire.from, input});
    builder.connect({output, wire.to});
    builder.setDots(input, {dots.begin(), before});
    builder.setDots(wire.to, {before, dots.end()});
}

std::vector<Dot> joined(std::vector<Dot> first, const std::vector<Dot>& second) {
    first.insert(first.end(), second.begin(), second.end());
    if (first.size() > kMostDots) first.resize(kMostDots);
    return first;
}

void carryDots(DeltaBuilder& builder, const std::vector<NodeId>& nodes, LaneId lane, double down) {
    const Table<Route> routes = builder.graph().routes(); // the routes change below
    if (routes.empty()) return;
    const std::unordered_set<NodeId> went(nodes.begin(), nodes.end());
    for (const Route& route : routes) {
        if (!went.contains(builder.graph().sourceOf(route.id)->node) || !went.contains(route.id.node))
            continue;
        std::vector<Dot> dots = route.dots;
        for (Dot& dot : dots)
            if (dot.lane != lane) dot = {lane, {dot.position.x, dot.position.y + down}};
        builder.setDots(route.id, std::move(dots));
    }
}

} // namespace twb
