#include "core/error.h"
#include "widgets/canvas/scene.h"

#include <algorithm>
#include <cmath>
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

void Scene::addWire(const Edge& edge) {
    const auto from = m_slotOf.find(edge.from.node);
    const auto to = m_slotOf.find(edge.to.node);
    if (from == m_slotOf.end() || to == m_slotOf.end()) return;
    std::uint32_t slot = 0;
    if (m_freeWires.empty()) {
        slot = static_cast<std::uint32_t>(m_wires.size());
        m_wires.emplace_back();
    } else {
        slot = m_freeWires.back();
        m_freeWires.pop_back();
        m_wires[slot] = {};
    }
    WireShape& wire = m_wires[slot];
    wire.edge = edge;
    wire.from = from->second;
    wire.to = to->second;
    wire.free = false;
    m_wireInto[edge.to] = slot;
    m_restyle.push_back(slot);
}

/// Out of the grid, before its way changes.
void Scene::liftWire(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    if (!std::exchange(wire.routed, false)) return;
    m_wireGrid.remove(slot, wire.bounds);
    m_wireBounds.remove(wire.bounds);
}

void Scene::removeWire(const Edge& edge) {
    const auto found = m_wireInto.find(edge.to);
    if (found == m_wireInto.end()) return;
    const std::uint32_t slot = found->second;
    liftWire(slot);
    m_detours.forget(slot);
    m_wires[slot] = {};
    m_wireLabels.erase(slot);
    m_freeWires.push_back(slot);
    m_wireInto.erase(found);
}

void Scene::styleWire(const SceneSource& source, WireShape& wire) const {
    const auto& type = source.analysis.typeOf(wire.edge.from);
    wire.kind = wireClassOf(type);
    wire.width = wireWidth(type);
    constexpr std::size_t kMostRank = 100;
    wire.rank = type ? static_cast<std::int8_t>(std::min<std::size_t>(type->shape.rank(), kMostRank)) : -1;
    const auto ghost = m_ghostOf.find(wire.edge.to);
    wire.ghost = ghost != m_ghostOf.end() ? ghost->second : -1;
}

void Scene::routeWireOf(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    // During a drag, the wires of a card show its future lane.
    wire.crosses = m_nodes[wire.from].device != m_nodes[wire.to].device;
    const auto mismatch = m_mismatches.find(wire.edge.to);
    wire.mismatch = mismatch != m_mismatches.end() && (wire.crosses || mismatch->second != "device-mismatch");
    liftWire(slot);
    m_wireLabels.erase(slot);
    const bool isWithin = drawnSlot(wire.from) == drawnSlot(wire.to) && m_nodes[wire.from].module != kNoSlot;
    const std::uint32_t from = drawnSlot(wire.from);
    const std::uint32_t to = drawnSlot(wire.to);
    wire.fromStub = stubOf(from, PortSide::output);
    wire.toStub = stubOf(to, PortSide::input);
    const bool isNowhere = (m_nodes[from].isHidden && wire.fromStub < 0) ||
                           (m_nodes[to].isHidden && wire.toStub < 0) || isBetweenHidden(from, to);
    wire.hidden = isWithin || isNowhere || isRow(from);
    wire.showsDots = takesDots(wire) && !dotsOf(wire).empty();
    m_detours.forget(slot);
    wire.turnsAside = false;
    if (wire.hidden) {
        wire.start = wire.end = {};
        wire.bounds = {};
        return;
    }
    wire.start = endOf(wire.edge.from, PortSide::output, wire.fromStub);
    wire.end = endOf(wire.edge.to, PortSide::input, wire.toStub);
    avoidCards(slot);
    wire.bounds = path(wire).bounds();
    m_wireGrid.insert(slot, wire.bounds);
    m_wireBounds.add(wire.bounds);
    wire.routed = true;
}

/// A card with the frames around it that are not around `other`: a backward wire goes around all of them.
QRectF Scene::outskirtsOf(const NodeShape& shape, const NodeShape& other) const {
    const auto at = [this](FrameId id) {
        return std::find_if(m_frames.begin(), m_frames.end(), [id](const auto& f) { return f.id == id; });
    };
    std::vector<FrameId> around;
    for (auto f = at(other.frame); f != m_frames.end() && around.size() < m_frames.size(); f = at(f->parent))
        around.push_back(f->id);
    QRectF rect = shape.rect;
    std::size_t steps = m_frames.size();
    for (auto f = at(shape.frame); f != m_frames.end() && steps-- > 0; f = at(f->parent)) {
        if (std::find(around.begin(), around.end(), f->id) != around.end()) break;
        rect |= f->rect;
    }
    return rect;
}

/// The parts of a wire without dots: one, or two with a pill between them.
QVarLengthArray<WireLeg, 2> Scene::legsOf(const WireShape& wire) const {
    const bool runsBack = wire.end.x() < wire.start.x() && !m_frames.empty();
    const NodeShape& from = m_nodes[drawnSlot(wire.from)];
    const NodeShape& to = m_nodes[drawnSlot(wire.to)];
    QRectF source = runsBack ? outskirtsOf(from, to) : from.rect;
    QRectF target = runsBack ? outskirtsOf(to, from) : to.rect;
    if (wire.fromStub >= 0) source = m_stubs[static_cast<std::size_t>(wire.fromStub)].rect;
    if (wire.toStub >= 0) target = m_stubs[static_cast<std::size_t>(wire.toStub)].rect;
    if (wire.ghost < 0) return {{wire.start, wire.end, source, target}};
    const QRectF& ghost = m_ghosts[static_cast<std::size_t>(wire.ghost)].rect;
    const QPointF left(ghost.left(), ghost.center().y());
    const QPointF right(ghost.right(), ghost.center().y());
    return {{wire.start, left, source, ghost}, {right, wire.end, ghost, target}};
}

WirePath Scene::path(const WireShape& wire) const {
    WirePath path(wire.start);
    const auto dots = shownDotsOf(wire);
    std::span<const QPointF> rest(dots);
    const WireDetours::Legs* detours = nullptr;
    if (wire.turnsAside) detours = &m_detours.of(m_wireInto.at(wire.edge.to));
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

/// Finds the detours of a wire. One with dots runs as its dots lead it. A dragged card is not in the way: it
/// can be dropped on a wire.
void Scene::avoidCards(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    if (wire.showsDots) return;
    const std::uint32_t from = drawnSlot(wire.from);
    const std::uint32_t to = drawnSlot(wire.to);
    const auto legs = legsOf(wire);
    wire.turnsAside = m_detours.find(slot, legs, [&](const QRectF& area, const auto& visit) {
        m_nodeGrid.any(area, [&](std::uint32_t card) {
            const NodeShape& shape = m_nodes[card];
            const bool isInTheWay = !shape.dragged && shape.kind != NodeShape::Kind::row && card != from &&
                                    card != to && shape.rect.intersects(area);
            return isInTheWay && !visit(shape.rect);
        });
    });
}

/// Lists the wires again that a card may have come in the way of, or left.
void Scene::restyleDisturbed() {
    const std::vector<QRectF> disturbed = m_detours.takeDisturbed();
    const auto restyle = [this](std::uint32_t wire) { m_restyle.push_back(wire); };
    if (disturbed.size() > m_wires.size() / 4 + 16) {
        m_restyle.clear();
        for (std::uint32_t i = 0; i < m_wires.size(); ++i)
            if (!m_wires[i].free) restyle(i);
        return;
    }
    for (const QRectF& rect : disturbed) {
        visitWires(rect.adjusted(-4, -4, 4, 4), restyle);
        m_detours.visitWatching(rect, restyle);
    }
}

/// Routes the wires of touched nodes, and all others that must be routed.
void Scene::routeAll(const Graph& graph) {
    for (std::uint32_t slot : m_touched) {
        m_isTouched[slot] = false;
        const NodeId id = m_nodes[slot].id;
        for (const Edge& edge : graph.outgoing(id)) {
            if (const auto at = m_wireInto.find(edge.to); at != m_wireInto.end())
                m_restyle.push_back(at->second);
        }
        const auto count = static_cast<std::int32_t>(graph.inputs(id).size());
        for (std::int32_t port = 0; port < count; ++port) {
            if (const auto at = m_wireInto.find({id, port}); at != m_wireInto.end())
                m_restyle.push_back(at->second);
        }
    }
    m_touched.clear();
    restyleDisturbed();
    std::sort(m_restyle.begin(), m_restyle.end());
    m_restyle.erase(std::unique(m_restyle.begin(), m_restyle.end()), m_restyle.end());
    for (const std::uint32_t wire : m_restyle) routeWireOf(wire);
    m_restyle.clear();
}

void Scene::drag(const Graph& graph, std::span<const std::pair<NodeId, QPointF>> nodes,
                 std::span<const std::pair<NoteId, QPointF>> notes, std::span<const Device> devices,
                 std::span<const std::pair<DotRef, QPointF>> dots) {
    ++m_version;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto found = m_slotOf.find(nodes[i].first);
        if (found == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[found->second];
        shape.drag = nodes[i].second;
        shape.dragged = true;
        if (i < devices.size() && shape.device != devices[i]) {
            shape.device = devices[i];
            m_cards.erase(found->second); // the caption of a To names its device
            if (const auto rows = m_rowsOf.find(found->second); rows != m_rowsOf.end()) {
                const LaneBand* home = lane(shape.lane);
                const bool isHome = home && home->device == devices[i];
                for (const std::uint32_t row : rows->second) {
                    // Parameters move with their card; when it returns, they are at their old positions.
                    const LaneBand* own = lane(m_nodes[row].lane);
                    m_nodes[row].device = isHome && own ? own->device : devices[i];
                    m_cards.erase(row);
                }
            }
        }
        place(found->second);
        touch(found->second);
    }
    for (const auto& [id, offset] : notes) {
        for (NoteShape& note : m_notes) {
            if (note.id != id) continue;
            note.drag = offset;
            if (const LaneBand* band = lane(note.lane))
                note.rect.moveTo(note.at.x + offset.x(), band->top + note.at.y + offset.y());
        }
    }
    dragDots(dots);
    m_framesAreOld = true;
    readFrames(graph);
    routeAll(graph);
}

void Scene::endDrag(const Graph& graph) {
    std::vector<std::pair<NodeId, QPointF>> nodes;
    std::vector<Device> devices;
    for (const NodeShape& shape : m_nodes) {
        if (!shape.dragged) continue;
        nodes.emplace_back(shape.id, QPointF());
        const LaneBand* band = lane(shape.lane);
        devices.push_back(band ? band->device : shape.device);
    }
    std::vector<std::pair<NoteId, QPointF>> notes;
    for (const NoteShape& note : m_notes) {
        if (!note.drag.isNull()) notes.emplace_back(note.id, QPointF());
    }
    std::vector<std::pair<DotRef, QPointF>> dots;
    for (const auto& [input, onWire] : m_dots)
        for (std::size_t i = 0; i < onWire.size(); ++i)
            if (!onWire[i].drag.isNull()) dots.push_back({{input, i}, QPointF()});
    if (nodes.empty() && notes.empty() && dots.empty()) return;
    drag(graph, nodes, notes, devices, dots);
    for (const auto& [id, offset] : nodes) {
        NodeShape& shape = m_nodes[m_slotOf.at(id)];
        shape.dragged = false;
        m_detours.cardLifted(shape.rect);
    }
    routeAll(graph);
}

} // namespace twb
