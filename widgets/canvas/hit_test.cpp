#include "widgets/canvas/hit_test.h"

#include "widgets/canvas/detail.h"
#include "widgets/canvas/scene.h"
#include "widgets/theme.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

double distance(QPointF a, QPointF b) { return std::hypot(a.x() - b.x(), a.y() - b.y()); }

/// The port of `shape` nearest to a point, and its distance.
std::pair<int, double> nearestPortOf(const NodeShape& shape, PortSide side, QPointF point) {
    std::pair<int, double> best{-1, 1e9};
    const int count = side == PortSide::input ? shape.inputs : shape.outputs;
    for (int port = 0; port < count; ++port) {
        // A folded port accepts another wire, but has none to pull off.
        if (side == PortSide::input && isFolded(shape, port)) continue;
        const double d = distance(portPosition(shape, side, port), point);
        if (d < best.second) best = {port, d};
    }
    return best;
}

} // namespace

Hit hitTest(const Scene& scene, QPointF point, double zoom) {
    // At low zoom, distances in canvas units grow.
    const double scale = 1 / std::clamp(zoom, 0.05, 1.0);
    const double reach = metrics::portHitRadius * std::min(scale, 1.5);
    const bool hasPorts = detailFor(zoom, 0) >= Detail::titles;
    Hit hit;
    double nearest = reach;
    std::uint64_t top = 0;
    const QRectF around(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach);
    scene.nodes().visit(around, [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        const bool inside = shape.rect.contains(point);
        if (hasPorts) {
            for (const PortSide side : {PortSide::output, PortSide::input}) {
                const auto [port, d] = nearestPortOf(shape, side, point);
                // Inside the card the body has priority, except on the disc of the port itself.
                if (port < 0 || d >= nearest || (inside && d > metrics::portRadius + 3)) continue;
                nearest = d;
                hit.kind = side == PortSide::input ? Hit::Kind::input : Hit::Kind::output;
                hit.port = scene.modules().portOf(shape, side, port);
                hit.node = hit.port.node;
            }
        }
        const bool isPort = hit.kind == Hit::Kind::input || hit.kind == Hit::Kind::output;
        // A row is on top of its card.
        const bool isRow = shape.kind == NodeShape::Kind::row;
        const std::uint64_t order = 2 * std::uint64_t{isRow ? shape.card : slot} + (isRow ? 1 : 0);
        if (!inside || isPort || (hit.kind == Hit::Kind::node && order < top)) return;
        hit.kind = Hit::Kind::node;
        hit.node = shape.id;
        top = order;
    });
    if (hit.kind != Hit::Kind::nothing) return hit;
    for (std::size_t i = 0; i < scene.stubs().shapes().size(); ++i) {
        if (!scene.stubs().shapes()[i].rect.contains(point)) continue;
        hit.kind = Hit::Kind::stub;
        hit.stub = static_cast<std::int32_t>(i);
        return hit;
    }

    const double dotReach = (kDotRadius + 4) * scale;
    double nearestDot = dotReach;
    const QRectF aroundDot(point.x() - dotReach, point.y() - dotReach, 2 * dotReach, 2 * dotReach);
    if (hasPorts)
        scene.wires().visitDots(aroundDot, [&](const DotRef& ref, const DotShape& dot) {
            const double d = distance(dot.at, point);
            if (d >= nearestDot) return;
            nearestDot = d;
            hit.kind = Hit::Kind::dot;
            hit.wire = scene.wires().into(ref.wire)->edge;
            hit.dot = ref.index;
        });
    if (hit.kind != Hit::Kind::nothing) return hit;

    double nearestWire = 6 * scale;
    scene.wires().visit(around, [&](std::uint32_t slot) {
        const double d = scene.wires().path(scene.wires()[slot]).distanceTo(point);
        if (d >= nearestWire) return;
        nearestWire = d;
        hit.kind = Hit::Kind::wire;
        hit.wire = scene.wires()[slot].edge;
    });
    if (hit.kind != Hit::Kind::nothing) return hit;

    // A frame is hit by its title or its edge; inside it, other items are hit.
    const double edge = 5 / std::clamp(zoom, 0.01, 1.0);
    const auto isEdge = [&](const QRectF& rect) {
        return rect.adjusted(-edge, -edge, edge, edge).contains(point) &&
               !rect.adjusted(edge, edge, -edge, -edge).contains(point);
    };
    const std::vector<FrameShape>& frames = scene.frames().shapes();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        if (frame->rect.isEmpty() || !(frame->titleRect.contains(point) || isEdge(frame->rect))) continue;
        hit.kind = Hit::Kind::frame;
        hit.frame = frame->id;
        return hit;
    }
    const std::vector<NoteShape>& notes = scene.notes();
    for (auto note = notes.rbegin(); note != notes.rend(); ++note) {
        if (!note->rect.contains(point)) continue;
        hit.kind = Hit::Kind::note;
        hit.note = note->id;
        return hit;
    }
    return hit;
}

std::optional<Edge> wireNear(const Scene& scene, QPointF point, double range, NodeId but) {
    std::optional<Edge> best;
    double nearest = range;
    scene.wires().visit(QRectF(point.x() - range, point.y() - range, 2 * range, 2 * range),
                        [&](std::uint32_t slot) {
                            const WireShape& wire = scene.wires()[slot];
                            if (wire.hidden || wire.edge.from.node == but || wire.edge.to.node == but) return;
                            const double d = scene.wires().path(wire).distanceTo(point);
                            if (d >= nearest) return;
                            nearest = d;
                            best = wire.edge;
                        });
    return best;
}

std::optional<PortRef> nearestPort(const Scene& scene, QPointF point, PortSide side, double range,
                                   const PortSet& ports) {
    std::optional<PortRef> best;
    double nearest = range;
    const QRectF around(point.x() - range, point.y() - range, 2 * range, 2 * range);
    scene.nodes().visit(around, [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        const int count = side == PortSide::input ? shape.inputs : shape.outputs;
        for (int port = 0; port < count; ++port) {
            const double d = distance(portPosition(shape, side, port), point);
            const PortRef here = scene.modules().portOf(shape, side, port);
            if (d >= nearest || !ports.contains(here)) continue;
            nearest = d;
            best = here;
        }
    });
    return best;
}

} // namespace twb
