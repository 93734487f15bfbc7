#include "widgets/canvas/scene.h"

#include "widgets/canvas/caption.h"
#include "widgets/theme.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr double kLaneMargin = 16; ///< under the lowest card of a lane
constexpr double kLeastLane = 104; ///< high enough for a header and a card
constexpr double kPillHeight = 34;
constexpr double kPortSpacing = 20;
constexpr double kLabelRoom = 40; ///< what the price under a pill needs
constexpr double kFramePadding = 14;
constexpr double kFrameTitle = 18;
constexpr double kNotePadding = 12;

QString toQt(const std::string& text) { return QString::fromStdString(text); }

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
    return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29);
}

std::uint64_t mixed(std::uint64_t seed, const std::optional<TensorType>& type) {
    if (!type) return mixed(seed, 77);
    seed = mixed(seed, static_cast<std::uint64_t>(type->dtype) + 1);
    for (std::int64_t d : type->shape) seed = mixed(seed, static_cast<std::uint64_t>(d) + 3);
    return seed;
}

/// Widths grow with the logarithm of the bytes: 360 B is a thread, a gigabyte a cable.
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

/// Multiples of the grid, so that cards line up at both sides.
double cardWidth(const Node& node, const NodeFacts* facts) {
    const double title = 16 + roughWidth(node.name, TextRole::nodeTitle) + 10 +
                         roughWidth("= 0.000 ms", TextRole::smallFigure) + 12;
    const double caption = 16 + roughWidth(captionOf(node, facts).toStdString(), TextRole::body) + 14;
    const double chip = 16 + 14 + roughWidth(typeCaption(facts).toStdString(), TextRole::smallFigure) + 34;
    const double wanted = std::ceil(std::max({title, caption, chip}) / 8) * 8;
    return std::clamp(wanted, metrics::nodeMinWidth, metrics::nodeMaxWidth);
}

} // namespace

WireClass wireClassOf(const std::optional<TensorType>& type) noexcept {
    if (!type) return WireClass::unknown;
    if (type->dtype == DType::boolean) return WireClass::boolean;
    return isFloating(type->dtype) ? WireClass::floating : WireClass::integer;
}

QPointF portPosition(const NodeShape& shape, PortSide side, int port) noexcept {
    const int count = side == PortSide::input ? shape.inputs : shape.outputs;
    const double x = side == PortSide::input ? shape.rect.left() : shape.rect.right();
    return {x, shape.rect.center().y() + (port - (count - 1) / 2.0) * kPortSpacing};
}

void Scene::rebuild(const SceneSource& source) {
    const std::uint64_t version = m_version;
    *this = Scene();
    m_version = version;
    m_nodes.reserve(source.graph.nodes().size());
    m_slotOf.reserve(source.graph.nodes().size());
    m_wires.reserve(source.graph.edgeCount());
    m_wireInto.reserve(source.graph.edgeCount());
    for (const Node& node : source.graph.nodes()) touch(addNode(node));
    for (const Node& node : source.graph.nodes())
        for (const Edge& edge : source.graph.outgoing(node.id)) addWire(edge);
    finish(source);
}

void Scene::update(const SceneSource& source, const Delta& delta) {
    for (const Edge& edge : delta.edgesRemoved) removeWire(edge);
    for (const auto& change : delta.nodes) {
        if (change.before && !change.after) removeNode(change.before->id);
    }
    for (const auto& change : delta.nodes) {
        if (!change.after) continue;
        const auto known = m_slotOf.find(change.after->id);
        const std::uint32_t slot = known != m_slotOf.end() ? known->second : addNode(*change.after);
        NodeShape& shape = m_nodes[slot];
        shape.lane = change.after->lane;
        shape.frame = change.after->frame;
        shape.at = change.after->position;
        shape.drag = {};
        shape.dragged = false;
        shape.signature = 0; // name and attributes may be others: measure it again
        touch(slot);
    }
    for (const Edge& edge : delta.edgesAdded) addWire(edge);
    finish(source);
}

std::uint32_t Scene::addNode(const Node& node) {
    std::uint32_t slot = 0;
    if (m_freeNodes.empty()) {
        slot = static_cast<std::uint32_t>(m_nodes.size());
        m_nodes.emplace_back();
        m_isTouched.push_back(false);
    } else {
        slot = m_freeNodes.back();
        m_freeNodes.pop_back();
        m_nodes[slot] = {};
    }
    NodeShape& shape = m_nodes[slot];
    shape.id = node.id;
    shape.lane = node.lane;
    shape.frame = node.frame;
    shape.at = node.position;
    m_slotOf[node.id] = slot;
    m_nodeGrid.insert(slot, shape.rect);
    return slot;
}

void Scene::removeNode(NodeId id) {
    const auto found = m_slotOf.find(id);
    if (found == m_slotOf.end()) return;
    const std::uint32_t slot = found->second;
    m_nodeGrid.remove(slot, m_nodes[slot].rect);
    m_nodes[slot] = {};
    m_cards.erase(slot);
    m_nodeLabels.erase(slot);
    m_freeNodes.push_back(slot);
    m_slotOf.erase(found);
}

void Scene::touch(std::uint32_t slot) {
    if (m_isTouched[slot]) return;
    m_isTouched[slot] = true;
    m_touched.push_back(slot);
}

void Scene::readFacts(const SceneSource& source, const Node& node, NodeShape& shape) const {
    const NodeFacts* facts = source.analysis.find(node.id);
    const Op* op = facts ? facts->op : nullptr;
    const auto& links = source.graph.inputs(node.id);
    std::size_t inputs = links.size();
    std::size_t outputs = 0;
    if (op) {
        // A variadic op always has one more input to connect to.
        const std::size_t own =
            op->isVariadic()
                ? std::max<std::size_t>(static_cast<std::size_t>(op->minimumInputs()), links.size() + 1)
                : op->inputs.size();
        inputs = std::max(inputs, own);
        outputs = op->outputs.size();
    }
    for (const Edge& edge : source.graph.outgoing(node.id))
        outputs = std::max(outputs, static_cast<std::size_t>(edge.from.port) + 1);
    shape.inputs = static_cast<std::uint16_t>(std::min<std::size_t>(inputs, 1000));
    shape.outputs = static_cast<std::uint16_t>(std::min<std::size_t>(outputs, 1000));
    shape.kind = node.op == "To" ? NodeShape::Kind::pill : NodeShape::Kind::card;

    const double x = shape.rect.x();
    const double y = shape.rect.y();
    if (shape.kind == NodeShape::Kind::pill) {
        const double text = roughWidth(pillTitle(node, shape.device).toStdString(), TextRole::strong);
        shape.rect = {x, y, std::max(80.0, std::ceil((text + 32) / 8) * 8), kPillHeight};
        return;
    }
    const int rows = std::max(shape.inputs, shape.outputs);
    shape.rect = {x, y, cardWidth(node, facts), metrics::nodeHeight + std::max(0, rows - 3) * kPortSpacing};
}

void Scene::finish(const SceneSource& source) {
    ++m_version;
    const Graph& graph = source.graph;
    std::unordered_map<NodeId, Severity> worst;
    std::unordered_map<PortRef, std::string, PortHash> mismatches;
    for (const Diagnostic& d : source.analysis.diagnostics) {
        if (d.severity == Severity::note || d.code == "implicit-transfer") continue;
        const auto [at, added] = worst.emplace(d.node, d.severity);
        if (!added) at->second = std::max(at->second, d.severity);
        if (d.severity == Severity::error && d.edge) mismatches.emplace(d.edge->to, d.code);
    }

    readLanes(source);
    std::unordered_map<LaneId, Device> devices;
    for (const LaneBand& band : m_lanes) devices[band.id] = band.device;

    // Types may have changed far away from what the Delta names, so every node is asked for its signature.
    for (const Node& node : graph.nodes()) {
        const auto known = m_slotOf.find(node.id);
        if (known == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[known->second];
        shape.device = devices[node.lane];
        const auto mark = worst.find(node.id);
        shape.hasError = mark != worst.end() && mark->second == Severity::error;
        shape.hasWarning = mark != worst.end() && mark->second == Severity::warning;
        const NodeFacts* facts = source.analysis.find(node.id);
        std::uint64_t signature = mixed(1, std::hash<Device>()(shape.device));
        signature = mixed(signature, (facts && facts->op ? 2U : 0U) + (shape.hasError ? 4U : 0U) +
                                         (shape.hasWarning ? 8U : 0U) + 16U * graph.outgoing(node.id).size());
        if (facts)
            for (const auto& type : facts->outputs) signature = mixed(signature, type);
        for (const auto& input : graph.inputs(node.id)) {
            signature = mixed(signature, input ? value(input->node) + 5 : 9);
            if (input)
                signature =
                    mixed(signature, static_cast<std::uint64_t>(wireClassOf(source.analysis.typeOf(*input))));
        }
        if (signature == shape.signature) continue;
        shape.signature = signature;
        m_nodeGrid.remove(known->second, shape.rect);
        readFacts(source, node, shape);
        m_nodeGrid.insert(known->second, shape.rect);
        m_cards.erase(known->second);
        m_nodeLabels.erase(known->second);
        touch(known->second);
    }

    readNotes(graph);
    stackLanes(graph);
    for (std::uint32_t slot : m_touched) place(slot);
    for (NoteShape& note : m_notes)
        if (const LaneBand* band = lane(note.lane))
            note.rect.moveTo(note.at.x + note.drag.x(), band->top + note.at.y + note.drag.y());
    readFrames(graph);

    for (std::uint32_t i = 0; i < m_wires.size(); ++i) {
        if (!m_wires[i].free &&
            m_mismatches.contains(m_wires[i].edge.to) != mismatches.contains(m_wires[i].edge.to))
            m_restyle.push_back(i);
    }
    m_mismatches = std::move(mismatches);
    readGhosts(source);
    for (std::uint32_t slot : m_touched) {
        const NodeId id = m_nodes[slot].id;
        if (id == NodeId::none) continue;
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
    std::sort(m_restyle.begin(), m_restyle.end());
    m_restyle.erase(std::unique(m_restyle.begin(), m_restyle.end()), m_restyle.end());
    for (std::uint32_t wire : m_restyle) {
        if (m_wires[wire].free) continue;
        styleWire(source, m_wires[wire]);
        routeWireOf(wire);
    }
    m_restyle.clear();
    for (std::uint32_t slot : m_touched) m_isTouched[slot] = false;
    m_touched.clear();
}

void Scene::readLanes(const SceneSource& source) {
    std::unordered_map<LaneId, double> tops;
    for (const LaneBand& band : m_lanes) tops[band.id] = band.top;
    m_lanes.clear();
    std::vector<Device> seen;
    for (const Lane& lane : source.graph.lanesInOrder()) {
        LaneBand band;
        band.id = lane.id;
        band.device = source.devices.resolve(lane.device);
        const auto before = tops.find(lane.id);
        band.top = before != tops.end() ? before->second : -1;
        band.height = lane.height;
        band.name = toQt(lane.device.toString());
        if (lane.device.isAuto()) band.name += QStringLiteral(" → ") + toQt(band.device.toString());
        band.title = toQt(lane.title);
        if (const Backend* backend = source.devices.find(band.device)) {
            band.backend = toQt(backend->info().name);
            band.detail = toQt(backend->info().detail);
            band.simulated = backend->info().simulated;
        }
        band.repeated = std::find(seen.begin(), seen.end(), band.device) != seen.end();
        seen.push_back(band.device);
        m_lanes.push_back(std::move(band));
    }
}

void Scene::stackLanes(const Graph& graph) {
    std::unordered_map<LaneId, LaneBand*> bands;
    for (LaneBand& band : m_lanes) bands[band.id] = &band;
    for (const NodeShape& shape : m_nodes) {
        const auto band = bands.find(shape.lane);
        if (shape.id == NodeId::none || band == bands.end()) continue;
        const double room = shape.kind == NodeShape::Kind::pill ? kLabelRoom - kLaneMargin : 0.0;
        band->second->contentBottom =
            std::max(band->second->contentBottom, shape.at.y + shape.rect.height() + room);
    }
    for (const NoteShape& note : m_notes) {
        const auto band = bands.find(note.lane);
        if (band == bands.end()) continue;
        band->second->contentBottom = std::max(band->second->contentBottom, note.at.y + note.rect.height());
    }
    double top = 0;
    std::unordered_set<LaneId> moved;
    for (LaneBand& band : m_lanes) {
        band.height = std::max({band.height, band.contentBottom + kLaneMargin, kLeastLane});
        if (band.top != top) moved.insert(band.id);
        band.top = top;
        top += band.height;
    }
    if (moved.empty()) return;
    for (const Node& node : graph.nodes()) {
        if (!moved.contains(node.lane)) continue;
        if (const auto slot = m_slotOf.find(node.id); slot != m_slotOf.end()) touch(slot->second);
    }
}

void Scene::place(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    const LaneBand* band = lane(shape.lane);
    if (shape.id == NodeId::none || !band) return;
    m_nodeGrid.remove(slot, shape.rect);
    shape.rect.moveTo(shape.at.x + shape.drag.x(), band->top + shape.at.y + shape.drag.y());
    m_nodeGrid.insert(slot, shape.rect);
}

void Scene::readNotes(const Graph& graph) {
    m_notes.clear();
    const QFontMetricsF metrics(font(TextRole::body));
    for (const Note& note : graph.notes()) {
        NoteShape shape;
        shape.id = note.id;
        shape.lane = note.lane;
        shape.at = note.position;
        const QString text = toQt(note.text);
        const double width = std::max(note.width, 80.0);
        const double textWidth = width - 2 * kNotePadding - 4;
        const QRectF wrapped =
            metrics.boundingRect(QRectF(0, 0, textWidth, 1e6), Qt::AlignLeft | Qt::TextWordWrap, text);
        const double height = std::max(note.height, std::ceil(wrapped.height()) + 2 * kNotePadding);
        shape.rect = QRectF(0, 0, width, height);
        shape.text.setTextFormat(Qt::PlainText);
        shape.text.setTextWidth(textWidth);
        shape.text.setText(QString(text).replace(QLatin1Char('\n'), QChar(QChar::LineSeparator)));
        m_notes.push_back(std::move(shape));
    }
}

void Scene::readFrames(const Graph& graph) {
    m_frames.clear();
    for (const Frame& frame : graph.frames()) {
        FrameShape shape;
        shape.id = frame.id;
        shape.title = elided(toQt(frame.title), TextRole::small, 220);
        // A parent that leads back to itself ends after as many steps as there are frames.
        std::size_t steps = graph.frames().size();
        for (const Frame* up = graph.find(frame.parent); up && steps-- > 0; up = graph.find(up->parent))
            ++shape.depth;
        m_frames.push_back(std::move(shape));
    }
    std::stable_sort(m_frames.begin(), m_frames.end(),
                     [](const auto& a, const auto& b) { return a.depth < b.depth; });
    if (m_frames.empty()) return;

    std::unordered_map<FrameId, std::size_t> indexOf;
    for (std::size_t i = 0; i < m_frames.size(); ++i) indexOf[m_frames[i].id] = i;
    for (const NodeShape& shape : m_nodes) {
        if (shape.id == NodeId::none || shape.frame == FrameId::none) continue;
        const auto at = indexOf.find(shape.frame);
        if (at != indexOf.end()) m_frames[at->second].rect |= shape.rect;
    }
    // Inner ones first, so that each outline encloses those inside it.
    for (std::size_t i = m_frames.size(); i-- > 0;) {
        FrameShape& shape = m_frames[i];
        if (shape.rect.isEmpty()) continue;
        shape.rect.adjust(-kFramePadding, -kFramePadding - 4, kFramePadding, kFramePadding);
        const double title = roughWidth(shape.title.toStdString(), TextRole::small) + 16;
        shape.titleRect =
            QRectF(shape.rect.left() + 12, shape.rect.top() - kFrameTitle / 2, title, kFrameTitle);
        const Frame* frame = graph.find(shape.id);
        const auto parent = frame ? indexOf.find(frame->parent) : indexOf.end();
        if (parent != indexOf.end() && m_frames[parent->second].depth < shape.depth)
            m_frames[parent->second].rect |= shape.rect;
    }
}

void Scene::readGhosts(const SceneSource& source) {
    std::unordered_map<PortRef, std::int32_t, PortHash> ghostOf;
    std::vector<GhostShape> ghosts;
    std::vector<QRectF> taken;
    for (const ImplicitCopy& copy : source.analysis.implicitCopies) {
        const NodeShape* from = node(copy.from.node);
        if (!from || copy.edges.empty()) continue;
        const NodeShape* first = nullptr;
        for (const Edge& edge : copy.edges) {
            const NodeShape* to = node(edge.to.node);
            if (to && (!first || to->rect.left() < first->rect.left())) first = to;
        }
        if (!first) continue;
        GhostShape ghost;
        ghost.from = copy.from;
        ghost.target = copy.target;
        ghost.price = copy.price;
        ghost.hoisted = copy.hoisted;
        ghost.title = QStringLiteral("copy to ") + toQt(copy.target.toString());
        const double width =
            std::ceil((roughWidth(ghost.title.toStdString(), TextRole::strong) + 28) / 8) * 8;
        const LaneBand* band = lane(first->lane);
        const bool fromAbove = from->rect.center().y() < first->rect.center().y();
        const double border = band ? (fromAbove ? band->top : band->bottom()) : first->rect.top();
        const double ahead = first->rect.left() - from->rect.right();
        const double x = ahead > 0 ? from->rect.right() + ahead / 2 : from->rect.right() + 60;
        // Beside the middle, as far as needed to stand clear of cards and of other pills with their prices;
        // best where there is room for its price, too, and where no wire has to run back.
        int best = -1;
        for (int step = 0; step < 24 && best < 3; ++step) {
            const double shift = (step % 2 ? 1 : -1) * ((step + 1) / 2) * 32.0;
            const QRectF spot(x - width / 2 + shift, border - kPillHeight / 2, width, kPillHeight);
            const auto isOpen = [&](const QRectF& room) {
                return isFree(room) && std::none_of(taken.begin(), taken.end(), [&](const QRectF& other) {
                           return other.intersects(room);
                       });
            };
            if (!isOpen(spot.adjusted(-8, -4, 8, 4))) continue;
            const bool runsForward = spot.left() > from->rect.right() && spot.right() < first->rect.left();
            const bool hasRoom = isOpen(spot.adjusted(-24, -4, 24, kLabelRoom)) ||
                                 isOpen(spot.adjusted(-24, -kLabelRoom, 24, 4));
            const int merit = (runsForward ? 2 : 0) + (hasRoom ? 1 : 0);
            if (merit <= best) continue;
            best = merit;
            ghost.rect = spot;
        }
        if (best < 0) ghost.rect = QRectF(x - width / 2, border - kPillHeight / 2, width, kPillHeight);
        taken.push_back(ghost.rect.adjusted(-24, -6, 24, kLabelRoom));
        for (const Edge& edge : copy.edges) ghostOf[edge.to] = static_cast<std::int32_t>(ghosts.size());
        ghosts.push_back(std::move(ghost));
    }
    // A pill that moved takes its wires along, and one that came or went changes theirs.
    if (!ghostOf.empty() || !m_ghostOf.empty()) {
        for (const auto* map : {&ghostOf, &m_ghostOf}) {
            for (const auto& [port, ghost] : *map) {
                if (const auto at = m_wireInto.find(port); at != m_wireInto.end())
                    m_restyle.push_back(at->second);
            }
        }
    }
    m_ghostOf = std::move(ghostOf);
    m_ghosts = std::move(ghosts);
    m_ghostLabels.assign(m_ghosts.size(), {});
}

bool Scene::isFree(const QRectF& rect) const {
    bool free = true;
    visitNodes(rect, [&](std::uint32_t) { free = false; });
    for (const NoteShape& note : m_notes) free = free && !note.rect.intersects(rect);
    return free;
}

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
    m_wireGrid.insert(slot, wire.bounds);
    m_wireInto[edge.to] = slot;
    m_restyle.push_back(slot);
}

void Scene::removeWire(const Edge& edge) {
    const auto found = m_wireInto.find(edge.to);
    if (found == m_wireInto.end()) return;
    const std::uint32_t slot = found->second;
    m_wireGrid.remove(slot, m_wires[slot].bounds);
    m_wires[slot] = {};
    m_wireLabels.erase(slot);
    m_freeWires.push_back(slot);
    m_wireInto.erase(found);
}

void Scene::styleWire(const SceneSource& source, WireShape& wire) const {
    const auto& type = source.analysis.typeOf(wire.edge.from);
    wire.kind = wireClassOf(type);
    wire.width = wireWidth(type);
    wire.crosses = m_nodes[wire.from].device != m_nodes[wire.to].device;
    wire.mismatch = m_mismatches.contains(wire.edge.to);
    const auto ghost = m_ghostOf.find(wire.edge.to);
    wire.ghost = ghost != m_ghostOf.end() ? ghost->second : -1;
}

void Scene::routeWireOf(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    m_wireGrid.remove(slot, wire.bounds);
    wire.start = portPosition(m_nodes[wire.from], PortSide::output, wire.edge.from.port);
    wire.end = portPosition(m_nodes[wire.to], PortSide::input, wire.edge.to.port);
    wire.bounds = path(wire).bounds();
    m_wireGrid.insert(slot, wire.bounds);
    m_wireLabels.erase(slot);
}

WirePath Scene::path(const WireShape& wire) const {
    WirePath path(wire.start);
    const QRectF& source = m_nodes[wire.from].rect;
    const QRectF& target = m_nodes[wire.to].rect;
    if (wire.ghost >= 0) {
        const QRectF& ghost = m_ghosts[static_cast<std::size_t>(wire.ghost)].rect;
        routeWire(path, {ghost.left(), ghost.center().y()}, source, ghost);
        // Hidden under the pill, so that both halves are one way.
        const QPointF left(ghost.left(), ghost.center().y());
        const QPointF right(ghost.right(), ghost.center().y());
        path.cubicTo(left + (right - left) / 3, right - (right - left) / 3, right);
        routeWire(path, wire.end, ghost, target);
        return path;
    }
    routeWire(path, wire.end, source, target);
    return path;
}

void Scene::drag(const Graph& graph, std::span<const std::pair<NodeId, QPointF>> nodes,
                 std::span<const std::pair<NoteId, QPointF>> notes, std::span<const Device> devices) {
    ++m_version;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto found = m_slotOf.find(nodes[i].first);
        if (found == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[found->second];
        shape.drag = nodes[i].second;
        shape.dragged = true;
        if (i < devices.size() && shape.device != devices[i]) {
            shape.device = devices[i];
            m_cards.erase(found->second); // a To names its device
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
    routeTouched(graph);
    readFrames(graph);
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
    if (nodes.empty() && notes.empty()) return;
    drag(graph, nodes, notes, devices);
    for (const auto& [id, offset] : nodes) m_nodes[m_slotOf.at(id)].dragged = false;
}

void Scene::routeTouched(const Graph& graph) {
    for (std::uint32_t slot : m_touched) {
        m_isTouched[slot] = false;
        const NodeId id = m_nodes[slot].id;
        for (const Edge& edge : graph.outgoing(id)) {
            if (const auto at = m_wireInto.find(edge.to); at != m_wireInto.end()) routeWireOf(at->second);
        }
        const auto count = static_cast<std::int32_t>(graph.inputs(id).size());
        for (std::int32_t port = 0; port < count; ++port) {
            if (const auto at = m_wireInto.find({id, port}); at != m_wireInto.end()) routeWireOf(at->second);
        }
    }
    m_touched.clear();
}

} // namespace twb
