#include "widgets/canvas/walk.h"

#include "graph/folding.h"

#include <cmath>
#include <limits>

namespace twb {
namespace {

bool isCard(const NodeShape* shape) {
    return shape && shape->kind != NodeShape::Kind::row && shape->kind != NodeShape::Kind::hidden;
}

/// Straight ahead counts as nearer than sideways.
double farness(QPointF offset) { return std::abs(offset.y()) + 2 * std::abs(offset.x()); }

NodeId nearestReader(const Scene& scene, const Graph& graph, const NodeShape& from) {
    NodeId best = from.id;
    double nearest = std::numeric_limits<double>::max();
    for (const Edge& edge : graph.outgoing(from.id)) {
        const NodeShape* shape = scene.nodes().find(edge.to.node);
        if (!isCard(shape)) continue;
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
    const NodeShape* from = scene.nodes().find(cardOf(graph, node));
    if (!from) return node;
    switch (way) {
    case Way::toProducer:
        for (const auto& input : graph.inputs(from->id))
            if (input && isCard(scene.nodes().find(input->node))) return input->node;
        return from->id;
    case Way::toConsumer:
        return nearestReader(scene, graph, *from);
    case Way::up:
    case Way::down:
        return neighbour(scene, *from, way == Way::up);
    }
    return from->id;
}

} // namespace twb
