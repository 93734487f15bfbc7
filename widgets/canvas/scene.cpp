#include "widgets/canvas/scene.h"

#include "graph/card_size.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/node_looks.h"
#include "widgets/canvas/note_text.h"

#include <QTextDocument>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twb {
namespace {

/// Whether a change concerns the places of nodes only.
bool onlyMoves(const Delta& delta) {
    return delta.frames.empty() && delta.edgesAdded.empty() && delta.edgesRemoved.empty() &&
           std::all_of(delta.nodes.begin(), delta.nodes.end(), [](const Change<Node>& change) {
               if (!change.before || !change.after) return false;
               Node moved = *change.before;
               moved.position = change.after->position;
               return moved == *change.after;
           });
}

} // namespace

void Scene::rebuild(const SceneSource& source) {
    m_lanes = {};
    m_nodes = {};
    m_modules.clear();
    m_rows = {};
    m_columns = {};
    m_wires.clear();
    m_frames = {};
    m_notes.clear();
    m_marks = {};
    m_texts = {};
    m_labels = {};
    m_titleZoom = 1;
    m_framesAreOld = true;
    m_nodes.reserve(source.graph.nodes().size());
    m_wires.reserve(source.graph.edgeCount());
    std::vector<NodeId> nodes;
    nodes.reserve(source.graph.nodes().size());
    for (const Node& node : source.graph.nodes()) {
        const std::uint32_t slot = m_nodes.add(node);
        m_nodes.asked.add(slot);
        m_nodes.touched.add(slot);
        nodes.push_back(node.id);
    }
    for (const Node& node : source.graph.nodes())
        for (const Edge& edge : source.graph.outgoing(node.id)) m_wires.add(edge);
    for (const Route& route : source.graph.routes()) m_wires.dots().set(route.id, route.dots);
    m_rows.read(source.graph, nodes, m_nodes);
    finish(source);
}

void Scene::update(const SceneSource& source, const Delta& delta, const Revised& revised) {
    for (const Edge& edge : delta.edgesRemoved) m_labels.forgetWire(m_wires.remove(edge));
    for (const auto& change : delta.nodes) {
        if (change.before && !change.after) removeNode(change.before->id);
    }
    for (const auto& change : delta.nodes)
        if (change.after) this->change(*change.after);
    for (const Edge& edge : delta.edgesAdded) m_wires.add(edge);
    for (const Change<Route>& change : delta.routes) {
        const PortRef input = change.after ? change.after->id : change.before->id;
        m_wires.dots().set(input, change.after ? change.after->dots : std::vector<Dot>());
        m_wires.listInto(input);
    }
    if (revised.all || !revised.nodes.empty() || !onlyMoves(delta)) m_modules.recount();
    m_framesAreOld = m_framesAreOld || revised.all || !delta.frames.empty();
    ask(source, delta, revised);
    finish(source);
}

void Scene::removeNode(NodeId id) {
    const std::uint32_t slot = m_nodes.slotOf(id);
    if (slot == kNoSlot) return;
    m_columns.leave(slot, m_nodes);
    m_framesAreOld = m_framesAreOld || m_nodes[slot].frame != FrameId::none;
    m_lanes.discount(m_nodes[slot]);
    m_rows.forget(slot);
    m_nodes.remove(slot);
}

void Scene::change(const Node& after) {
    const std::uint32_t known = m_nodes.slotOf(after.id);
    const std::uint32_t slot = known != kNoSlot ? known : m_nodes.add(after);
    NodeShape& shape = m_nodes[slot];
    m_framesAreOld = m_framesAreOld || shape.frame != after.frame;
    shape.lane = after.lane;
    shape.frame = after.frame;
    shape.at = after.position;
    shape.drag = {};
    if (std::exchange(shape.dragged, false)) m_nodes.disturb(slot);
    m_nodes.measure(slot); // the name and attributes may have changed
    if (shape.card != kNoSlot) m_nodes.measure(shape.card);
    m_nodes.touched.add(slot);
}

/// Asks all nodes that an edit may affect: nodes and edge ends in the Delta, nodes with a changed analysis,
/// and folded nodes.
void Scene::ask(const SceneSource& source, const Delta& delta, const Revised& revised) {
    const auto askOne = [this](NodeId id) {
        if (const std::uint32_t slot = m_nodes.slotOf(id); slot != kNoSlot) m_nodes.asked.add(slot);
    };
    std::vector<NodeId> around;
    for (const auto& change : delta.nodes)
        if (change.after) around.push_back(change.after->id);
    for (const auto* edges : {&delta.edgesRemoved, &delta.edgesAdded})
        for (const Edge& edge : *edges)
            for (const NodeId end : {edge.from.node, edge.to.node})
                if (m_nodes.find(end)) around.push_back(end);
    for (const NodeId id : around) askOne(id);
    for (const NodeId id : revised.nodes) askOne(id);
    if (revised.all)
        for (std::uint32_t slot = 0; slot < m_nodes.shapes().size(); ++slot)
            if (m_nodes[slot].id != NodeId::none) m_nodes.asked.add(slot);
    // Whether a node is folded also depends on its consumer.
    for (std::size_t i = 0, own = around.size(); i < own; ++i)
        for (const auto& from : source.graph.inputs(around[i]))
            if (from) around.push_back(from->node);
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    m_rows.read(source.graph, around, m_nodes);
}

void Scene::readDiagnostics(const SceneSource& source) {
    const DiagnosticMarks::Changes changes = m_marks.read(source.analysis, m_nodes, m_modules);
    for (const NodeId id : changes.nodes)
        if (const std::uint32_t slot = m_nodes.slotOf(id); slot != kNoSlot) m_nodes.asked.add(slot);
    for (const PortRef input : changes.inputs) m_wires.listInto(input);
}

/// Updates the facts of a node; measures it again if its appearance changes.
void Scene::readNode(const SceneSource& source, std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    const Node* node = source.graph.find(shape.id);
    if (!node) return;
    const LaneBand* band = m_lanes.find(node->lane);
    shape.device = band ? band->device : Device();
    const std::optional<Severity> mark = m_marks.of(shape.id);
    shape.hasError = mark == Severity::error;
    shape.hasWarning = mark == Severity::warning;
    const ModuleShape* module = m_modules.at(slot);
    readMarks(source.graph, *node, module, shape);
    const std::uint64_t signature = signatureOf(source, shape);
    if (signature == shape.signature) return;
    shape.signature = signature;
    m_nodes.lift(slot); // until it is placed
    readFacts(source, *node, module, shape);
    m_nodes.reworded.add(slot);
    m_nodes.touched.add(slot);
}

void Scene::finish(const SceneSource& source) {
    ++m_version;
    m_lanes.read(source);
    m_rows.read(source.graph, m_modules.read(source), m_nodes); // the card of a module has no rows
    m_modules.placeCards(source.graph);
    m_hidden.read(source, m_lanes, m_nodes);
    readDiagnostics(source);
    for (std::size_t i = 0; i < m_nodes.asked.slots().size(); ++i) {
        const std::uint32_t module = m_nodes[m_nodes.asked.slots()[i]].module;
        if (module != kNoSlot) m_nodes.asked.add(module); // its card describes its content
    }
    for (const std::uint32_t slot : m_nodes.asked.take()) readNode(source, slot);

    m_columns.align(m_nodes);
    readNotes(source.graph);
    m_stubs.read(*this, source.graph);
    stackLanes();
    for (const std::uint32_t slot : m_nodes.touched.slots()) {
        place(slot);
        m_framesAreOld = m_framesAreOld || m_nodes[slot].frame != FrameId::none;
    }
    m_stubs.place(m_lanes);
    for (const PortRef input : m_wires.dots().place(*this)) m_wires.listInto(input);
    for (NoteShape& note : m_notes) placeNote(note);
    readFrames(source.graph);
    for (const PortRef input : m_ghosts.read(*this, source.analysis)) m_wires.listInto(input);
    m_labels.forgetGhosts();
    if (m_hidden.any()) // their stubs may have moved
        for (std::uint32_t i = 0; i < m_wires.shapes().size(); ++i)
            if (!m_wires[i].free && (m_nodes[m_nodes.drawnSlot(m_wires[i].from)].isHidden ||
                                     m_nodes[m_nodes.drawnSlot(m_wires[i].to)].isHidden))
                m_wires.list(i);
    route(source.graph, &source.analysis);
}

void Scene::stackLanes() {
    for (const std::uint32_t slot : m_nodes.touched.slots()) m_lanes.count(m_nodes[slot]);
    if (std::ranges::any_of(m_lanes.bands(), &LaneBand::collapsed))
        for (std::uint32_t slot = 0; slot < m_nodes.shapes().size(); ++slot) {
            const NodeShape& shape = m_nodes[slot];
            if (shape.id != NodeId::none && !m_hidden.isOutside(m_nodes[m_nodes.drawnSlot(slot)].frame))
                m_lanes.countHidden(shape.lane, shape.hasError);
        }
    for (const NoteShape& note : m_notes) m_lanes.makeRoom(note.lane, note.at.y + note.rect.height());
    m_wires.dots().makeRoom(*this, m_lanes);
    m_stubs.makeRoom(m_lanes);
    const auto moved = m_lanes.stack(m_hidden.open() != FrameId::none);
    if (moved.empty()) return;
    for (std::uint32_t slot = 0; slot < m_nodes.shapes().size(); ++slot)
        if (m_nodes[slot].id != NodeId::none && moved.contains(m_nodes[slot].lane)) m_nodes.touched.add(slot);
}

void Scene::place(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    if (m_nodes.isRow(slot)) return m_rows.place(shape.card, m_nodes);
    const LaneBand* band = m_lanes.find(shape.lane);
    if (shape.id == NodeId::none || !band) return;
    m_nodes.lift(slot);
    if (shape.kind == NodeShape::Kind::hidden) {
        // On a strip, navigation can still reach it.
        const bool isCard = shape.module == kNoSlot || shape.module == slot;
        if (band->collapsed && isCard && !m_hidden.isOutside(shape.frame))
            shape.rect = {shape.at.x, band->top, card::minWidth, band->height};
    } else {
        shape.rect.moveTo(shape.at.x + shape.drag.x(), band->top + shape.at.y + shape.drag.y());
    }
    m_nodes.put(slot);
    m_rows.place(slot, m_nodes);
}

void Scene::readNotes(const Graph& graph) {
    constexpr double kPadding = 12;
    const std::vector<NoteShape> before = std::exchange(m_notes, {});
    for (const Note& note : graph.notes()) {
        const LaneBand* band = m_lanes.find(note.lane);
        if (m_hidden.open() != FrameId::none || (band && band->collapsed)) continue;
        NoteShape shape;
        shape.id = note.id;
        shape.lane = note.lane;
        shape.at = note.position;
        const double width = std::max(note.width, 80.0);
        const double textWidth = width - 2 * kPadding - 4;
        // Most edits do not affect notes: their layout is kept.
        const auto known = std::find_if(before.begin(), before.end(), [&](const NoteShape& old) {
            return old.id == note.id && old.markdown == note.text && old.text->textWidth() == textWidth;
        });
        shape.markdown = note.text;
        shape.text = known != before.end() ? known->text : makeNoteText(note.text, textWidth);
        const double height = std::max(note.height, std::ceil(shape.text->size().height()) + 2 * kPadding);
        shape.rect = QRectF(0, 0, width, height);
        m_notes.push_back(std::move(shape));
    }
}

void Scene::placeNote(NoteShape& note) const {
    if (const LaneBand* band = m_lanes.find(note.lane))
        note.rect.moveTo(note.at.x + note.drag.x(), band->top + note.at.y + note.drag.y());
}

void Scene::readFrames(const Graph& graph) {
    const bool isOld = std::exchange(m_framesAreOld, false);
    const bool isChanged = isOld && m_frames.read(*this, graph);
    if (isOld || m_nodes.isDisturbed()) m_frames.placeTitles(*this, m_titleZoom); // a card may be in the way
    if (!isChanged) return;
    // Backward wires go around frames.
    for (std::uint32_t i = 0; i < m_wires.shapes().size(); ++i) {
        const WireShape& wire = m_wires[i];
        if (wire.free || wire.end.x() >= wire.start.x()) continue;
        if (m_nodes[wire.from].frame != FrameId::none || m_nodes[wire.to].frame != FrameId::none)
            m_wires.list(i);
    }
}

/// Routes the wires of touched nodes, and all others that are listed. `analysis`: for the way they look;
/// null if it is the same as before.
void Scene::route(const Graph& graph, const Analysis* analysis) {
    for (const std::uint32_t slot : m_nodes.touched.take()) m_wires.listAround(m_nodes[slot].id, graph);
    for (const std::uint32_t wire : m_wires.takeListed(m_nodes.takeDisturbed())) {
        if (analysis) m_wires.style(wire, *analysis);
        m_wires.route(wire);
        m_labels.forgetWire(wire);
    }
    for (const std::uint32_t slot : m_nodes.reworded.take()) {
        m_texts.forget(slot);
        m_labels.forgetNode(slot);
    }
}

void Scene::drag(const Graph& graph, std::span<const std::pair<NodeId, QPointF>> nodes,
                 std::span<const std::pair<NoteId, QPointF>> notes, std::span<const Device> devices,
                 std::span<const std::pair<DotRef, QPointF>> dots) {
    ++m_version;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::uint32_t slot = m_nodes.slotOf(nodes[i].first);
        if (slot == kNoSlot) continue;
        NodeShape& shape = m_nodes[slot];
        shape.drag = nodes[i].second;
        shape.dragged = true;
        if (i < devices.size() && shape.device != devices[i]) {
            shape.device = devices[i];
            m_nodes.reworded.add(slot); // the caption of a To names its device
            const LaneBand* home = m_lanes.find(shape.lane);
            const bool isHome = home && home->device == devices[i];
            for (const std::uint32_t row : m_rows.on(slot)) {
                // Parameters move with their card; when it returns, they are at their old positions.
                const LaneBand* own = m_lanes.find(m_nodes[row].lane);
                m_nodes[row].device = isHome && own ? own->device : devices[i];
                m_nodes.reworded.add(row);
            }
        }
        place(slot);
        m_nodes.touched.add(slot);
    }
    for (const auto& [id, offset] : notes) {
        const auto note = std::ranges::find(m_notes, id, &NoteShape::id);
        if (note == m_notes.end()) continue;
        note->drag = offset;
        placeNote(*note);
    }
    for (const auto& [ref, offset] : dots)
        if (m_wires.dots().drag(ref, offset)) m_wires.listInto(ref.wire);
    m_framesAreOld = true;
    readFrames(graph);
    route(graph, nullptr);
}

void Scene::endDrag(const Graph& graph) {
    std::vector<std::pair<NodeId, QPointF>> nodes;
    std::vector<Device> devices;
    for (const NodeShape& shape : m_nodes.shapes()) {
        if (!shape.dragged) continue;
        nodes.emplace_back(shape.id, QPointF());
        const LaneBand* band = m_lanes.find(shape.lane);
        devices.push_back(band ? band->device : shape.device);
    }
    std::vector<std::pair<NoteId, QPointF>> notes;
    for (const NoteShape& note : m_notes) {
        if (!note.drag.isNull()) notes.emplace_back(note.id, QPointF());
    }
    std::vector<std::pair<DotRef, QPointF>> dots;
    for (const DotRef& ref : m_wires.dots().dragged()) dots.emplace_back(ref, QPointF());
    if (nodes.empty() && notes.empty() && dots.empty()) return;
    drag(graph, nodes, notes, devices, dots);
    for (const auto& [id, offset] : nodes) {
        const std::uint32_t slot = m_nodes.slotOf(id);
        m_nodes[slot].dragged = false;
        m_nodes.disturb(slot);
    }
    route(graph, nullptr);
}

void Scene::reroute(PortRef input) {
    ++m_version;
    m_wires.listInto(input);
    for (const std::uint32_t wire : m_wires.takeListed({})) {
        m_wires.route(wire);
        m_labels.forgetWire(wire);
    }
}

void Scene::holdDot(const DotRef& ref, const Dot& dot) {
    const LaneBand* band = m_lanes.find(dot.lane);
    if (!m_wires.into(ref.wire) || !band) return;
    m_wires.dots().hold(ref, {dot, {}, {dot.position.x, band->top + dot.position.y}});
    reroute(ref.wire);
}

void Scene::dropHeldDot() {
    if (const auto input = m_wires.dots().dropHeld()) reroute(*input);
}

void Scene::prepare(const SceneSource& source, const QRectF& viewport, double zoom, const RunState* run) {
    constexpr std::size_t kMostCards = 4096; // beyond it, texts outside the view are dropped
    if (const double near = std::min(zoom, 1.0); near != m_titleZoom) {
        m_titleZoom = near;
        m_frames.placeTitles(*this, near);
    }
    if (detailFor(zoom, m_nodes.count()) < Detail::titles) return;
    if (m_texts.count() > kMostCards) {
        m_texts.clear();
        m_labels.clear();
    }
    const QRectF around = viewport.adjusted(-48, -48, 48, 48);
    m_nodes.visit(around, [&](std::uint32_t slot) { m_texts.prepare(*this, source, run, slot); });
    if (zoom >= kReadableZoom) m_labels.prepare(*this, source, run, around, zoom);
}

QRectF Scene::extent() const {
    QRectF all = contentExtent();
    if (!m_lanes.bands().empty()) all.setBottom(std::max(all.bottom(), m_lanes.bands().back().bottom()));
    return all;
}

QRectF Scene::contentExtent() const {
    QRectF all = m_nodes.bounds() | m_wires.bounds() | m_wires.dots().bounds();
    for (const NoteShape& note : m_notes) all |= note.rect;
    for (const FrameShape& frame : m_frames.shapes()) all |= frame.rect;
    for (const GhostShape& ghost : m_ghosts.shapes()) all |= ghost.rect;
    for (const StubShape& stub : m_stubs.shapes()) all |= stub.rect;
    if (all.isEmpty()) all = QRectF(0, 0, 1, 1);
    const std::vector<LaneBand>& lanes = m_lanes.bands();
    if (lanes.empty()) return all;
    const double title = lanes.front().rankTitle.isEmpty() ? 0 : LaneStack::kRankTitle;
    all.setTop(std::min(all.top(), lanes.front().top - title));
    // Below the last lane there are no items, so its empty part is not content.
    const LaneBand& last = lanes.back();
    all.setBottom(std::max(all.bottom(), last.top + LaneStack::leastHeightOf(last)));
    return all;
}

QRectF Scene::shownExtent() const {
    if (m_hidden.open() == FrameId::none) return contentExtent();
    constexpr double kAround = 40;
    QRectF all;
    for (const NodeShape& shape : m_nodes.shapes())
        if (shape.placed) all |= shape.rect;
    for (const StubShape& stub : m_stubs.shapes()) all |= stub.rect;
    return all.isEmpty() ? extent() : all.adjusted(-kAround, -kAround, kAround, kAround);
}

QRectF Scene::boundsOf(const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes) const {
    QRectF all;
    for (NodeId id : nodes) {
        if (const NodeShape* shape = m_nodes.drawn(id)) all |= shape->rect;
    }
    for (const NoteShape& note : m_notes) {
        if (std::find(notes.begin(), notes.end(), note.id) != notes.end()) all |= note.rect;
    }
    return all;
}

bool Scene::isFree(const QRectF& rect) const {
    return !m_nodes.any(rect, [](std::uint32_t) { return true; }) &&
           std::none_of(m_notes.begin(), m_notes.end(),
                        [&](const NoteShape& note) { return note.rect.intersects(rect); });
}

} // namespace twb
