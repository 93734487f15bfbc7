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

const NodeShape* Scene::node(NodeId id) const noexcept {
    const auto found = m_slotOf.find(id);
    return found == m_slotOf.end() ? nullptr : &m_nodes[found->second];
}

const WireShape* Scene::wire(const Edge& edge) const noexcept {
    const auto found = m_wireInto.find(edge.to);
    if (found == m_wireInto.end() || m_wires[found->second].edge != edge) return nullptr;
    return &m_wires[found->second];
}

const FrameShape* Scene::frame(FrameId id) const noexcept {
    const auto found =
        std::find_if(m_frames.begin(), m_frames.end(), [id](const FrameShape& f) { return f.id == id; });
    return found == m_frames.end() ? nullptr : &*found;
}

const LaneBand* Scene::lane(LaneId id) const noexcept {
    const auto found =
        std::find_if(m_lanes.begin(), m_lanes.end(), [id](const LaneBand& b) { return b.id == id; });
    return found == m_lanes.end() ? nullptr : &*found;
}

const LaneBand* Scene::laneAt(double y) const noexcept {
    if (m_lanes.empty()) return nullptr;
    for (const LaneBand& band : m_lanes) {
        if (y < band.bottom()) return &band;
    }
    return &m_lanes.back();
}

QRectF Scene::extent() const {
    QRectF all = contentExtent();
    if (!m_lanes.empty()) all.setBottom(std::max(all.bottom(), m_lanes.back().bottom()));
    return all;
}

QRectF Scene::contentExtent() const {
    // An outermost item was removed: all must be checked again.
    if (m_nodeBounds.isLost()) {
        m_nodeBounds = {};
        for (const NodeShape& shape : m_nodes)
            if (shape.isCounted) m_nodeBounds.add(shape.rect);
    }
    if (m_wireBounds.isLost()) {
        m_wireBounds = {};
        for (const WireShape& wire : m_wires)
            if (wire.routed) m_wireBounds.add(wire.bounds);
    }
    QRectF all = m_nodeBounds.rect() | m_wireBounds.rect();
    for (const NoteShape& note : m_notes) all |= note.rect;
    for (const FrameShape& frame : m_frames) all |= frame.rect;
    for (const GhostShape& ghost : m_ghosts) all |= ghost.rect;
    for (const StubShape& stub : m_stubs) all |= stub.rect;
    for (const auto& [input, dots] : m_dots)
        for (const DotShape& dot : dots)
            if (!dot.isHidden)
                all |= QRectF(dot.at, QSizeF()).adjusted(-kDotRadius, -kDotRadius, kDotRadius, kDotRadius);
    if (all.isEmpty()) all = QRectF(0, 0, 1, 1);
    if (m_lanes.empty()) return all;
    all.setTop(std::min(all.top(), m_lanes.front().top));
    // Below the last lane there are no items, so its empty part is not content.
    const LaneBand& last = m_lanes.back();
    all.setBottom(std::max(all.bottom(), last.top + leastHeightOf(last)));
    return all;
}

QRectF Scene::shownExtent() const {
    if (m_open == FrameId::none) return contentExtent();
    constexpr double kAround = 40;
    QRectF all;
    for (const NodeShape& shape : m_nodes)
        if (shape.placed) all |= shape.rect;
    for (const StubShape& stub : m_stubs) all |= stub.rect;
    return all.isEmpty() ? extent() : all.adjusted(-kAround, -kAround, kAround, kAround);
}

QRectF Scene::boundsOf(const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes) const {
    QRectF all;
    for (NodeId id : nodes) {
        if (const NodeShape* shape = drawn(id)) all |= shape->rect;
    }
    for (const NoteShape& note : m_notes) {
        if (std::find(notes.begin(), notes.end(), note.id) != notes.end()) all |= note.rect;
    }
    return all;
}

FrameId Scene::frameAround(QPointF at) const noexcept {
    for (auto frame = m_frames.rbegin(); frame != m_frames.rend(); ++frame)
        if (!frame->isCarried && frame->rect.contains(at)) return frame->id;
    return m_open;
}

std::vector<NodeId> Scene::nodesOf(FrameId frame, const Graph& graph) const {
    const auto isInside = [&](FrameId id) {
        std::size_t steps = graph.frames().size() + 1;
        for (; id != FrameId::none && steps-- > 0;) {
            if (id == frame) return true;
            const Frame* at = graph.find(id);
            id = at ? at->parent : FrameId::none;
        }
        return false;
    };
    std::vector<NodeId> inside;
    for (const NodeShape& shape : m_nodes) {
        if (shape.id != NodeId::none && shape.frame != FrameId::none && isInside(shape.frame))
            inside.push_back(shape.id);
    }
    std::sort(inside.begin(), inside.end());
    return inside;
}

bool Scene::hasNodeIn(const QRectF& rect) const {
    return m_nodeGrid.any(rect, [&](std::uint32_t slot) { return m_nodes[slot].rect.intersects(rect); });
}

bool Scene::hasWireIn(const QRectF& rect) const {
    return m_wireGrid.any(rect, [&](std::uint32_t slot) { return touches(m_wires[slot], rect); });
}

Hit Scene::hitTest(QPointF point, double zoom) const {
    // At low zoom, distances in canvas units grow.
    const double scale = 1 / std::clamp(zoom, 0.05, 1.0);
    const double reach = metrics::portHitRadius * std::min(scale, 1.5);
    const bool hasPorts = detailFor(zoom, 0) >= Detail::titles;
    Hit hit;
    double nearest = reach;
    std::uint64_t top = 0;
    const QRectF around(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach);
    visitNodes(around, [&](std::uint32_t slot) {
        const NodeShape& shape = m_nodes[slot];
        const bool inside = shape.rect.contains(point);
        if (hasPorts) {
            for (const PortSide side : {PortSide::output, PortSide::input}) {
                const auto [port, d] = nearestPortOf(shape, side, point);
                // Inside the card the body has priority, except on the disc of the port itself.
                if (port < 0 || d >= nearest || (inside && d > metrics::portRadius + 3)) continue;
                nearest = d;
                hit.kind = side == PortSide::input ? Hit::Kind::input : Hit::Kind::output;
                hit.port = portOf(shape, side, port);
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
    for (std::size_t i = 0; i < m_stubs.size(); ++i) {
        if (!m_stubs[i].rect.contains(point)) continue;
        hit.kind = Hit::Kind::stub;
        hit.stub = static_cast<std::int32_t>(i);
        return hit;
    }

    const double dotReach = (kDotRadius + 4) * scale;
    double nearestDot = dotReach;
    const QRectF aroundDot(point.x() - dotReach, point.y() - dotReach, 2 * dotReach, 2 * dotReach);
    if (hasPorts)
        visitDots(aroundDot, [&](const DotRef& ref, const DotShape& dot) {
            const double d = distance(dot.at, point);
            if (d >= nearestDot) return;
            nearestDot = d;
            hit.kind = Hit::Kind::dot;
            hit.wire = m_wires[m_wireInto.at(ref.wire)].edge;
            hit.dot = ref.index;
        });
    if (hit.kind != Hit::Kind::nothing) return hit;

    double nearestWire = 6 * scale;
    visitWires(around, [&](std::uint32_t slot) {
        const double d = path(m_wires[slot]).distanceTo(point);
        if (d >= nearestWire) return;
        nearestWire = d;
        hit.kind = Hit::Kind::wire;
        hit.wire = m_wires[slot].edge;
    });
    if (hit.kind != Hit::Kind::nothing) return hit;

    // A frame is hit by its title or its edge; inside it, other items are hit.
    const double edge = 5 / std::clamp(zoom, 0.01, 1.0);
    const auto isEdge = [&](const QRectF& rect) {
        return rect.adjusted(-edge, -edge, edge, edge).contains(point) &&
               !rect.adjusted(edge, edge, -edge, -edge).contains(point);
    };
    for (auto frame = m_frames.rbegin(); frame != m_frames.rend(); ++frame) {
        if (frame->rect.isEmpty() || !(frame->titleRect.contains(point) || isEdge(frame->rect))) continue;
        hit.kind = Hit::Kind::frame;
        hit.frame = frame->id;
        return hit;
    }
    for (auto note = m_notes.rbegin(); note != m_notes.rend(); ++note) {
        if (!note->rect.contains(point)) continue;
        hit.kind = Hit::Kind::note;
        hit.note = note->id;
        return hit;
    }
    return hit;
}

std::optional<Edge> Scene::wireNear(QPointF point, double range, NodeId but) const {
    std::optional<Edge> best;
    double nearest = range;
    visitWires(QRectF(point.x() - range, point.y() - range, 2 * range, 2 * range), [&](std::uint32_t slot) {
        const WireShape& wire = m_wires[slot];
        if (wire.hidden || wire.edge.from.node == but || wire.edge.to.node == but) return;
        const double d = path(wire).distanceTo(point);
        if (d >= nearest) return;
        nearest = d;
        best = wire.edge;
    });
    return best;
}

std::optional<PortRef> Scene::nearestPort(QPointF point, PortSide side, double range,
                                          const PortSet& ports) const {
    std::optional<PortRef> best;
    double nearest = range;
    const QRectF around(point.x() - range, point.y() - range, 2 * range, 2 * range);
    visitNodes(around, [&](std::uint32_t slot) {
        const NodeShape& shape = m_nodes[slot];
        const int count = side == PortSide::input ? shape.inputs : shape.outputs;
        for (int port = 0; port < count; ++port) {
            const double d = distance(portPosition(shape, side, port), point);
            const PortRef here = portOf(shape, side, port);
            if (d >= nearest || !ports.contains(here)) continue;
            nearest = d;
            best = here;
        }
    });
    return best;
}

} // namespace twb
