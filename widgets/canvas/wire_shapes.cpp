#include "widgets/canvas/wire_shapes.h"

#include "core/error.h"
#include "widgets/canvas/scene.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace twb {
namespace {

/// The width grows with the logarithm of the bytes.
float wireWidth(const std::optional<TensorType>& type) {
    if (!type || !type->isKnown()) return 1.6F;
    try {
        const double bytes = static_cast<double>(type->byteCount());
        return static_cast<float>(
            std::clamp(1.1 + 0.36 * std::log10(std::max(bytes, 16.0) / 16.0), 1.4, 4.0));
    } catch (const Error&) {
        return 4.0F; // more bytes than 64 bits can count
    }
}

} // namespace

const WireShape* WireShapes::into(PortRef input) const noexcept {
    const auto found = m_slotInto.find(input);
    return found == m_slotInto.end() ? nullptr : &m_wires[found->second];
}

const WireShape* WireShapes::find(const Edge& edge) const noexcept {
    const WireShape* wire = into(edge.to);
    return wire && wire->edge == edge ? wire : nullptr;
}

bool WireShapes::isMismatch(const NodeShape& row) const noexcept {
    if (row.card == kNoSlot) return false;
    const NodeShape& card = m_scene.nodes()[row.card];
    // The n-th set bit belongs to the n-th row.
    std::uint64_t ports = card.folded;
    for (int i = 0; i < row.row; ++i) ports &= ports - 1;
    const WireShape* wire = into({card.id, std::countr_zero(ports)});
    return ports && wire && wire->mismatch;
}

QRectF WireShapes::bounds() const {
    // An outermost wire was removed: all must be checked again.
    if (m_bounds.isLost()) {
        m_bounds = {};
        for (const WireShape& wire : m_wires)
            if (wire.routed) m_bounds.add(wire.bounds);
    }
    return m_bounds.rect();
}

bool WireShapes::isAnyIn(const QRectF& rect) const {
    return m_grid.any(rect, [&](std::uint32_t slot) { return touches(m_wires[slot], rect); });
}

const DotShape* WireShapes::dot(const DotRef& ref) const noexcept {
    const WireShape* wire = into(ref.wire);
    if (!wire || !wire->showsDots) return nullptr;
    const std::vector<DotShape>& dots = m_dots.on(ref.wire);
    return ref.index < dots.size() && !dots[ref.index].isHidden ? &dots[ref.index] : nullptr;
}

bool WireShapes::takesDots(const WireShape& wire) const noexcept {
    const auto isBeside = [this](std::int32_t stub) {
        return stub >= 0 && m_scene.stubs()[stub].kind != StubShape::Kind::onLane;
    };
    return !wire.hidden && !isBeside(wire.fromStub) && !isBeside(wire.toStub);
}

DotPlace WireShapes::placeNear(const WireShape& wire, QPointF point) const {
    const WirePath way = path(wire);
    const WirePath::Near near = way.nearest(point);
    return m_dots.placeIn(wire, way, near.cubic, near.at);
}

DotPlace WireShapes::placeAmid(const WireShape& wire) const {
    const WirePath way = path(wire);
    int longest = 0;
    double most = -1;
    for (int cubic = 0; cubic < way.cubicCount(); ++cubic) {
        const QPointF stretch = way.endOf(cubic) - way.endOf(cubic - 1);
        const double length = QPointF::dotProduct(stretch, stretch);
        if (length > most) longest = cubic;
        most = std::max(most, length);
    }
    return m_dots.placeIn(wire, way, longest, way.at((longest + 0.5) / way.cubicCount()));
}

void WireShapes::reserve(std::size_t count) {
    m_wires.reserve(count);
    m_slotInto.reserve(count);
}

void WireShapes::clear() {
    m_wires.clear();
    m_free.clear();
    m_slotInto.clear();
    m_grid.clear();
    m_bounds = {};
    m_detours = {};
    m_dots = {};
    m_listed = {};
}

void WireShapes::add(const Edge& edge) {
    const std::uint32_t from = m_scene.nodes().slotOf(edge.from.node);
    const std::uint32_t to = m_scene.nodes().slotOf(edge.to.node);
    if (from == kNoSlot || to == kNoSlot) return;
    std::uint32_t slot = 0;
    if (m_free.empty()) {
        slot = static_cast<std::uint32_t>(m_wires.size());
        m_wires.emplace_back();
    } else {
        slot = m_free.back();
        m_free.pop_back();
    }
    WireShape& wire = m_wires[slot];
    wire.edge = edge;
    wire.from = from;
    wire.to = to;
    wire.free = false;
    m_slotInto[edge.to] = slot;
    list(slot);
}

/// Out of the grid, before its way changes.
void WireShapes::lift(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    if (!std::exchange(wire.routed, false)) return;
    m_grid.remove(slot, wire.bounds);
    m_bounds.remove(wire.bounds);
}

std::uint32_t WireShapes::remove(const Edge& edge) {
    const auto found = m_slotInto.find(edge.to);
    if (found == m_slotInto.end()) return kNoSlot;
    const std::uint32_t slot = found->second;
    lift(slot);
    m_detours.forget(slot);
    m_wires[slot] = {};
    m_free.push_back(slot);
    m_slotInto.erase(found);
    return slot;
}

void WireShapes::listInto(PortRef input) {
    if (const auto at = m_slotInto.find(input); at != m_slotInto.end()) list(at->second);
}

void WireShapes::listAround(NodeId node, const Graph& graph) {
    for (const Edge& edge : graph.outgoing(node)) listInto(edge.to);
    const auto count = static_cast<std::int32_t>(graph.inputs(node).size());
    for (std::int32_t port = 0; port < count; ++port) listInto({node, port});
}

std::vector<std::uint32_t> WireShapes::takeListed(const std::vector<QRectF>& disturbed) {
    if (disturbed.size() > m_wires.size() / 4 + 16) {
        for (std::uint32_t i = 0; i < m_wires.size(); ++i) list(i);
    } else {
        const auto listOne = [this](std::uint32_t wire) { list(wire); };
        for (const QRectF& rect : disturbed) {
            visit(rect.adjusted(-4, -4, 4, 4), listOne);
            m_detours.visitWatching(rect, listOne);
        }
    }
    std::vector<std::uint32_t> out = m_listed.take();
    std::erase_if(out, [this](std::uint32_t wire) { return m_wires[wire].free; });
    std::sort(out.begin(), out.end());
    return out;
}

void WireShapes::style(std::uint32_t slot, const Analysis& analysis) {
    constexpr std::size_t kMostRank = 100;
    WireShape& wire = m_wires[slot];
    const auto& type = analysis.typeOf(wire.edge.from);
    wire.kind = wireClassOf(type);
    wire.width = wireWidth(type);
    wire.rank = type ? static_cast<std::int8_t>(std::min<std::size_t>(type->shape.rank(), kMostRank)) : -1;
    wire.ghost = m_scene.ghosts().on(wire.edge.to);
}

void WireShapes::route(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    const NodeShapes& nodes = m_scene.nodes();
    // During a drag, the wires of a card show its future lane.
    wire.crosses = nodes[wire.from].device != nodes[wire.to].device;
    const std::string* mismatch = m_scene.marks().mismatchInto(wire.edge.to);
    wire.mismatch = mismatch && (wire.crosses || *mismatch != "device-mismatch");
    lift(slot);
    const std::uint32_t from = nodes.drawnSlot(wire.from);
    const std::uint32_t to = nodes.drawnSlot(wire.to);
    const bool isWithin = from == to && nodes[wire.from].module != kNoSlot;
    wire.fromStub = m_scene.stubs().of(from, PortSide::output);
    wire.toStub = m_scene.stubs().of(to, PortSide::input);
    const bool isNowhere = (nodes[from].isHidden && wire.fromStub < 0) ||
                           (nodes[to].isHidden && wire.toStub < 0) ||
                           m_scene.hidden().areTogether(nodes[from], nodes[to]);
    wire.hidden = isWithin || isNowhere || nodes.isRow(from);
    wire.showsDots = takesDots(wire) && !m_dots.on(wire.edge.to).empty();
    m_detours.forget(slot);
    wire.turnsAside = false;
    if (wire.hidden) {
        wire.start = wire.end = {};
        wire.bounds = {};
        return;
    }
    wire.start = endOf(wire.edge.from, PortSide::output, wire.fromStub);
    wire.end = endOf(wire.edge.to, PortSide::input, wire.toStub);
    wire.turnsAside = findDetour(slot);
    wire.bounds = path(wire).bounds();
    m_grid.insert(slot, wire.bounds);
    m_bounds.add(wire.bounds);
    wire.routed = true;
}

/// The end of a wire: its node's port, or the stub that represents the node.
QPointF WireShapes::endOf(PortRef port, PortSide side, std::int32_t stub) const noexcept {
    if (stub < 0) return m_scene.modules().portAt(port, side);
    const QRectF& rect = m_scene.stubs()[stub].rect;
    return {side == PortSide::output ? rect.right() : rect.left(), rect.center().y()};
}

/// The parts of a wire without dots: one, or two with a pill between them. A backward wire goes around all
/// frames around its ends.
QVarLengthArray<WireLeg, 2> WireShapes::legsOf(const WireShape& wire) const {
    const NodeShapes& nodes = m_scene.nodes();
    const FrameShapes& frames = m_scene.frames();
    const bool runsBack = wire.end.x() < wire.start.x() && !frames.shapes().empty();
    const NodeShape& from = nodes[nodes.drawnSlot(wire.from)];
    const NodeShape& to = nodes[nodes.drawnSlot(wire.to)];
    QRectF source = runsBack ? frames.outskirtsOf(from, to) : from.rect;
    QRectF target = runsBack ? frames.outskirtsOf(to, from) : to.rect;
    if (wire.fromStub >= 0) source = m_scene.stubs()[wire.fromStub].rect;
    if (wire.toStub >= 0) target = m_scene.stubs()[wire.toStub].rect;
    if (wire.ghost < 0) return {{wire.start, wire.end, source, target}};
    const QRectF& ghost = m_scene.ghosts()[wire.ghost].rect;
    const QPointF left(ghost.left(), ghost.center().y());
    const QPointF right(ghost.right(), ghost.center().y());
    return {{wire.start, left, source, ghost}, {right, wire.end, ghost, target}};
}

WirePath WireShapes::path(const WireShape& wire) const {
    WirePath path(wire.start);
    const auto dots = m_dots.shownOn(wire);
    std::span<const QPointF> rest(dots);
    const WireDetours::Legs* detours = nullptr;
    if (wire.turnsAside) detours = &m_detours.of(m_slotInto.at(wire.edge.to));
    const auto legs = legsOf(wire);
    for (qsizetype i = 0; i < legs.size(); ++i) {
        const WireLeg& leg = legs[i];
        // Hidden below the pill, so that both halves form one path.
        if (i > 0) {
            const QPointF third = (leg.start - path.end()) / 3;
            path.cubicTo(path.end() + third, leg.start - third, leg.start);
        }
        if (const auto detour = detours ? (*detours)[std::size_t(i)] : std::nullopt) {
            routeWire(path, std::array{detour->first, detour->last}, leg.end, leg.source, leg.target);
            continue;
        }
        const std::size_t own =
            i + 1 == legs.size() ? rest.size() : dotsBefore(wire.start, rest, wire.end, leg.target.center());
        routeWire(path, rest.first(own), leg.end, leg.source, leg.target);
        rest = rest.subspan(own);
    }
    return path;
}

/// A wire with dots runs as its dots lead it. A dragged card is not in the way: it can be dropped on a wire.
bool WireShapes::findDetour(std::uint32_t slot) {
    const WireShape& wire = m_wires[slot];
    if (wire.showsDots) return false;
    const NodeShapes& nodes = m_scene.nodes();
    const std::uint32_t from = nodes.drawnSlot(wire.from);
    const std::uint32_t to = nodes.drawnSlot(wire.to);
    return m_detours.find(slot, legsOf(wire), [&](const QRectF& area, const auto& visit) {
        nodes.any(area, [&](std::uint32_t card) {
            const NodeShape& shape = nodes[card];
            const bool isInTheWay =
                !shape.dragged && shape.kind != NodeShape::Kind::row && card != from && card != to;
            return isInTheWay && !visit(shape.rect);
        });
    });
}

} // namespace twb
