#include "widgets/canvas/walk.h"

#include "graph/folding.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace twb {
namespace {

bool isCard(const NodeShape* shape) {
    return shape && shape->kind != NodeShape::Kind::row && shape->kind != NodeShape::Kind::hidden;
}

/// The ports of the nodes that a card shows, in the order of the card's ports.
std::vector<PortRef> inputsOf(const Scene& scene, const Graph& graph, const NodeShape& card) {
    std::vector<PortRef> out;
    if (const ModuleShape* module = scene.modules().of(card)) {
        for (const std::vector<PortRef>& group : module->inputs) out.push_back(group.front());
    } else {
        for (std::size_t port = 0; port < graph.inputs(card.id).size(); ++port)
            out.push_back({card.id, std::int32_t(port)});
    }
    return out;
}

NodeId firstProducer(const Scene& scene, const Graph& graph, const NodeShape& from) {
    for (const PortRef input : inputsOf(scene, graph, from)) {
        const std::optional<PortRef> source = graph.sourceOf(input);
        const NodeShape* shape = source ? scene.nodes().drawn(source->node) : nullptr;
        if (isCard(shape)) return shape->id;
    }
    return from.id;
}

/// Straight ahead counts as nearer than sideways.
double farness(QPointF offset) { return std::abs(offset.y()) + 2 * std::abs(offset.x()); }

NodeId nearestReader(const Scene& scene, const Graph& graph, const NodeShape& from) {
    NodeId best = from.id;
    double nearest = std::numeric_limits<double>::max();
    for (const NodeId node : scene.modules().nodesOn(from))
        for (const Edge& edge : graph.outgoing(node)) {
            const NodeShape* shape = scene.nodes().drawn(edge.to.node);
            if (!isCard(shape) || shape == &from) continue;
            const QPointF offset = shape->rect.center() - from.rect.center();
            const double distance = std::hypot(offset.x(), offset.y());
            if (distance >= nearest) continue;
            nearest = distance;
            best = shape->id;
        }
    return best;
}

NodeId neighbour(const Scene& scene, const NodeShape& from, bool above) {
    NodeId best = from.id;
    double nearest = std::numeric_limits<double>::max();
    for (const NodeShape& shape : scene.nodes().shapes()) {
        if (shape.id == NodeId::none || shape.id == from.id || !isCard(&shape)) continue;
        const QPointF offset = shape.rect.center() - from.rect.center();
        if (above ? offset.y() >= 0 : offset.y() <= 0) continue;
        if (farness(offset) >= nearest) continue;
        nearest = farness(offset);
        best = shape.id;
    }
    return best;
}

} // namespace

NodeId stepFrom(const Scene& scene, const Graph& graph, NodeId node, Way way) {
    const NodeShape* from = scene.nodes().drawn(cardOf(graph, node));
    if (!from) return node;
    switch (way) {
    case Way::toProducer:
        return firstProducer(scene, graph, *from);
    case Way::toConsumer:
        return nearestReader(scene, graph, *from);
    case Way::up:
    case Way::down:
        return neighbour(scene, *from, way == Way::up);
    }
    return from->id;
}

} // namespace twb
