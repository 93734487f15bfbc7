#include "widgets/canvas/scene.h"

#include "graph/folding.h"
#include "graph/module_names.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene_rows.h"
#include "widgets/theme.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace twb {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
    return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29);
}

std::uint64_t mixed(std::uint64_t seed, const std::optional<TensorType>& type) {
    if (!type) return mixed(seed, 77);
    seed = mixed(seed, static_cast<std::uint64_t>(type->dtype) + 1);
    for (std::int64_t d : type->shape) seed = mixed(seed, static_cast<std::uint64_t>(d) + 3);
    return seed;
}

/// Multiples of the grid, so that cards line up at both sides.
double cardWidth(const Node& node, const NodeFacts* facts, const SceneSource& source, std::uint64_t folded) {
    const double title = 16 + roughWidth(shortNameOf(source.graph, node), TextRole::nodeTitle) + 10 +
                         roughWidth("<0.001 ms", TextRole::smallFigure) + 12;
    double caption = 16 + roughWidth(captionOf(node, facts).toStdString(), TextRole::body) + 14;
    // Beside it stands what kind of time it is.
    if (facts) {
        const bool modelled = !isStaged(*facts) && source.devices.isSimulated(facts->device);
        const QString remark = timeRemark(modelled, facts->op && facts->op->role == OpRole::source);
        if (!remark.isEmpty()) caption += roughWidth(remark.toStdString(), TextRole::small) + 8;
    }
    const double chip =
        16 + 14 + roughWidth(typeCaption(facts, source.analysis).toStdString(), TextRole::smallFigure) + 34;
    double row = 0;
    for (std::uint64_t rest = folded; rest; rest &= rest - 1) {
        const auto at = source.graph.sourceOf({node.id, std::countr_zero(rest)});
        if (!at) continue;
        const RowWords words = rowWords(source.graph, source.analysis, at->node);
        row = std::max(row, 2 * kRowInset + 3 * kRowPadding +
                                roughWidth(words.name.toStdString(), TextRole::small) +
                                roughWidth(words.value.toStdString(), TextRole::smallFigure));
    }
    const double wanted = std::ceil(std::max({title, caption, chip, row}) / 8) * 8;
    return std::clamp(wanted, card::minWidth, card::maxWidth);
}

} // namespace

WireClass wireClassOf(const std::optional<TensorType>& type) noexcept {
    if (!type) return WireClass::unknown;
    if (type->dtype == DType::boolean) return WireClass::boolean;
    return isFloating(type->dtype) ? WireClass::floating : WireClass::integer;
}

QPointF portPosition(const NodeShape& shape, PortSide side, int port) noexcept {
    const double x = side == PortSide::input ? shape.rect.left() : shape.rect.right();
    int count = side == PortSide::input ? shape.inputs : shape.outputs;
    int place = port;
    if (side == PortSide::input && shape.folded) {
        const int rows = std::popcount(shape.folded);
        const int above =
            port >= kMostFoldedPorts ? rows : std::popcount(shape.folded & ((std::uint64_t{1} << port) - 1));
        if (isFolded(shape, port)) return {x, rowRect(shape, above).center().y()};
        count -= rows;
        place -= above;
    }
    return {x, bodyOf(shape).center().y() + (place - (count - 1) / 2.0) * card::portSpacing};
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
    for (const Route& route : source.graph.routes()) takeRoute({std::nullopt, route});
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
        if (shape.card != kNoSlot) m_nodes[shape.card].signature = 0;
        touch(slot);
    }
    for (const Edge& edge : delta.edgesAdded) addWire(edge);
    for (const Change<Route>& change : delta.routes) takeRoute(change);
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
    return slot;
}

void Scene::removeNode(NodeId id) {
    const auto found = m_slotOf.find(id);
    if (found == m_slotOf.end()) return;
    const std::uint32_t slot = found->second;
    if (m_nodes[slot].placed) m_nodeGrid.remove(slot, m_nodes[slot].rect);
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
    if (shape.isHidden && shape.module == kNoSlot) {
        shape.kind = NodeShape::Kind::hidden;
        shape.isStaged = false;
        shape.inputs = shape.outputs = 0;
        shape.rect = {};
        return;
    }
    if (shape.module != kNoSlot) {
        const bool isCard = &m_nodes[shape.module] == &shape && !shape.isHidden;
        shape.kind = isCard ? NodeShape::Kind::module : NodeShape::Kind::hidden;
        shape.isStaged = false;
        shape.inputs = shape.outputs = 0;
        shape.rect = {};
        const ModuleShape* module = moduleOf(shape);
        if (!module) return;
        constexpr std::size_t kMostPorts = 1000;
        shape.inputs = static_cast<std::uint16_t>(std::min(module->inputs.size(), kMostPorts));
        shape.outputs = static_cast<std::uint16_t>(std::min(module->outputs.size(), kMostPorts));
        shape.folded = 0;
        const ModuleWords words = moduleWords(*module, source.analysis);
        // As on any card, there is room for a time.
        const double time = roughWidth("<0.001 ms", TextRole::smallFigure) + 8;
        const double remark = roughWidth("partly modelled", TextRole::small) + 8;
        const double widest = std::max({roughWidth(module->title.toStdString(), TextRole::nodeTitle) + time,
                                        roughWidth(words.caption.toStdString(), TextRole::body) + remark,
                                        roughWidth(words.chip.toStdString(), TextRole::smallFigure) + 34});
        const int most = std::max<int>(shape.inputs, shape.outputs);
        shape.rect = {0, 0, std::clamp(std::ceil((widest + 36) / 8) * 8, card::minWidth, card::maxWidth),
                      card::height + std::max(0, most - 3) * card::portSpacing};
        return;
    }
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
    if (shape.card != kNoSlot) {
        // Its place and its size are its card's affair, and so are its ports.
        shape.kind = NodeShape::Kind::row;
        shape.inputs = shape.outputs = 0;
        shape.isStaged = false;
        return;
    }
    shape.inputs = static_cast<std::uint16_t>(std::min<std::size_t>(inputs, 1000));
    shape.outputs = static_cast<std::uint16_t>(std::min<std::size_t>(outputs, 1000));
    shape.kind = node.op == "To" ? NodeShape::Kind::pill : NodeShape::Kind::card;
    shape.isStaged = facts && isStaged(*facts);

    const double x = shape.rect.x();
    const double y = shape.rect.y();
    if (shape.kind == NodeShape::Kind::pill) {
        const double text = roughWidth(pillTitle(node, shape.device).toStdString(), TextRole::strong);
        shape.rect = {x, y, std::max(80.0, std::ceil((text + 32) / 8) * 8), card::pillHeight};
        return;
    }
    const int folded = std::popcount(shape.folded);
    const int ports = std::max<int>(shape.inputs - folded, shape.outputs);
    shape.ownWidth = cardWidth(node, facts, source, shape.folded);
    shape.rect = {x, y, shape.ownWidth,
                  card::height + std::max(0, ports - 3) * card::portSpacing + rowsHeight(folded)};
}

/// Cards that stand one below the other in a lane have one width, so that both their sides line up.
void Scene::alignColumns() {
    const auto columnOf = [](const NodeShape& shape) {
        return mixed(value(shape.lane), std::bit_cast<std::uint64_t>(shape.at.x));
    };
    const auto isCard = [](const NodeShape& shape) {
        return shape.id != NodeId::none && shape.kind == NodeShape::Kind::card;
    };
    std::unordered_map<std::uint64_t, double> widest;
    widest.reserve(m_slotOf.size());
    for (const NodeShape& shape : m_nodes) {
        if (!isCard(shape)) continue;
        double& width = widest[columnOf(shape)];
        width = std::max(width, shape.ownWidth);
    }
    for (std::uint32_t slot = 0; slot < m_nodes.size(); ++slot) {
        NodeShape& shape = m_nodes[slot];
        if (!isCard(shape)) continue;
        const double width = widest[columnOf(shape)];
        if (shape.rect.width() == width) continue;
        if (shape.placed) m_nodeGrid.remove(slot, shape.rect);
        shape.placed = false;
        shape.rect.setWidth(width);
        m_cards.erase(slot);
        touch(slot);
    }
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
    readFolds(graph);
    readModules(source);
    readHidden(source);
    for (const auto& [slot, module] : m_modules) {
        // What is wrong inside shows on the card.
        std::optional<Severity> inside;
        for (const NodeId id : module.nodes)
            if (const auto mark = worst.find(id); mark != worst.end())
                inside = std::max(inside.value_or(mark->second), mark->second);
        if (inside) worst[m_nodes[slot].id] = *inside;
    }

    // Types may have changed far away from what the Delta names, so every node is asked for its signature.
    for (const Node& node : graph.nodes()) {
        const auto known = m_slotOf.find(node.id);
        if (known == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[known->second];
        shape.device = devices[node.lane];
        const auto mark = worst.find(node.id);
        shape.hasError = mark != worst.end() && mark->second == Severity::error;
        shape.hasWarning = mark != worst.end() && mark->second == Severity::warning;
        shape.isPinned = node.pinned;
        shape.isDisabled = node.disabled;
        shape.breakpoint = node.breakpoint;
        if (const auto module = m_modules.find(known->second); module != m_modules.end())
            shape.isDisabled = std::all_of(module->second.nodes.begin(), module->second.nodes.end(),
                                           [&](NodeId id) { return graph.find(id)->disabled; });
        const NodeFacts* facts = source.analysis.find(node.id);
        std::uint64_t signature = mixed(1, std::hash<Device>()(shape.device));
        signature =
            mixed(signature, (facts && facts->op ? 2U : 0U) + (shape.hasError ? 4U : 0U) +
                                 (shape.hasWarning ? 8U : 0U) +
                                 (source.devices.isSimulated(shape.device) ? 16U : 0U) +
                                 (shape.isDisabled ? 32U : 0U) + 64U * graph.outgoing(node.id).size());
        if (facts)
            for (const auto& type : facts->outputs) signature = mixed(signature, type);
        for (const auto& input : graph.inputs(node.id)) {
            signature = mixed(signature, input ? value(input->node) + 5 : 9);
            if (input) signature = mixed(signature, source.analysis.typeOf(*input));
        }
        if (signature == shape.signature) continue;
        shape.signature = signature;
        // It comes back to the grid when it is placed.
        if (shape.placed) m_nodeGrid.remove(known->second, shape.rect);
        shape.placed = false;
        readFacts(source, node, shape);
        m_cards.erase(known->second);
        m_nodeLabels.erase(known->second);
        touch(known->second);
    }

    alignColumns();
    readNotes(graph);
    readStubs(source);
    stackLanes(graph);
    for (std::uint32_t slot : m_touched) place(slot);
    placeStubs();
    layDots();
    for (NoteShape& note : m_notes)
        if (const LaneBand* band = lane(note.lane))
            note.rect.moveTo(note.at.x + note.drag.x(), band->top + note.at.y + note.drag.y());
    readFrames(graph);

    for (std::uint32_t i = 0; i < m_wires.size(); ++i) {
        if (m_wires[i].free) continue;
        const auto before = m_mismatches.find(m_wires[i].edge.to);
        const auto now = mismatches.find(m_wires[i].edge.to);
        const bool had = before != m_mismatches.end();
        const bool has = now != mismatches.end();
        if (had != has || (has && before->second != now->second)) m_restyle.push_back(i);
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

} // namespace twb
