#include "widgets/canvas/scene.h"

#include <algorithm>
#include <utility>

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

/// Visits the keys whose values differ between two maps, or that only one has.
template <class Map, class Visit> void visitDifferences(const Map& before, const Map& now, Visit&& visit) {
    for (const auto& [key, value] : now) {
        const auto at = before.find(key);
        if (at == before.end() || at->second != value) visit(key);
    }
    for (const auto& [key, value] : before)
        if (!now.contains(key)) visit(key);
}

} // namespace

void Scene::update(const SceneSource& source, const Delta& delta, const Revised& revised) {
    for (const Edge& edge : delta.edgesRemoved) removeWire(edge);
    for (const auto& change : delta.nodes) {
        if (change.before && !change.after) removeNode(change.before->id);
    }
    for (const auto& change : delta.nodes) {
        if (!change.after) continue;
        const auto known = m_slotOf.find(change.after->id);
        const std::uint32_t slot = known != m_slotOf.end() ? known->second : addNode(*change.after);
        NodeShape& shape = m_nodes[slot];
        if (shape.frame != change.after->frame) m_framesAreOld = true;
        shape.lane = change.after->lane;
        shape.frame = change.after->frame;
        shape.at = change.after->position;
        shape.drag = {};
        if (std::exchange(shape.dragged, false)) m_detours.cardLifted(shape.rect);
        measure(slot); // the name and attributes may have changed
        if (shape.card != kNoSlot) measure(shape.card);
        touch(slot);
    }
    for (const Edge& edge : delta.edgesAdded) addWire(edge);
    for (const Change<Route>& change : delta.routes) takeRoute(change);
    m_framesAreOld = m_framesAreOld || revised.all || !delta.frames.empty();
    askAbout(source, delta, revised);
    finish(source);
}

/// All nodes that an edit may affect: nodes and edge ends in the Delta, nodes with a changed analysis, and
/// folded nodes.
void Scene::askAbout(const SceneSource& source, const Delta& delta, const Revised& revised) {
    const auto askId = [this](NodeId id) {
        if (const auto at = m_slotOf.find(id); at != m_slotOf.end()) ask(at->second);
    };
    std::vector<NodeId> around;
    for (const auto& change : delta.nodes)
        if (change.after) around.push_back(change.after->id);
    for (const auto* edges : {&delta.edgesRemoved, &delta.edgesAdded})
        for (const Edge& edge : *edges)
            for (const NodeId end : {edge.from.node, edge.to.node})
                if (m_slotOf.contains(end)) around.push_back(end);
    for (const NodeId id : around) askId(id);
    for (const NodeId id : revised.nodes) askId(id);
    if (revised.all)
        for (const auto& [id, slot] : m_slotOf) ask(slot);
    // Whether a node is folded also depends on its consumer.
    for (std::size_t i = 0, own = around.size(); i < own; ++i)
        for (const auto& from : source.graph.inputs(around[i]))
            if (from) around.push_back(from->node);
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    readFolds(source.graph, around);
}

/// Updates the diagnostics of nodes and wires; marks nodes whose diagnostics changed.
void Scene::readMarks(const SceneSource& source) {
    std::unordered_map<NodeId, Severity> marks;
    std::unordered_map<PortRef, std::string, PortHash> mismatches;
    for (const Diagnostic& d : source.analysis.diagnostics) {
        if (d.severity == Severity::note || d.code == "implicit-transfer") continue;
        const auto [at, added] = marks.emplace(d.node, d.severity);
        if (!added) at->second = std::max(at->second, d.severity);
        if (d.severity == Severity::error && d.edge) mismatches.emplace(d.edge->to, d.code);
    }
    for (const auto& [slot, module] : m_modules) {
        // Errors inside show on the card.
        std::optional<Severity> inside;
        for (const NodeId id : module.nodes)
            if (const auto mark = marks.find(id); mark != marks.end())
                inside = std::max(inside.value_or(mark->second), mark->second);
        if (inside) marks[m_nodes[slot].id] = *inside;
    }
    visitDifferences(m_marks, marks, [this](NodeId id) {
        if (const auto at = m_slotOf.find(id); at != m_slotOf.end()) ask(at->second);
    });
    visitDifferences(m_mismatches, mismatches, [this](PortRef input) {
        if (const auto at = m_wireInto.find(input); at != m_wireInto.end()) m_restyle.push_back(at->second);
    });
    m_marks = std::move(marks);
    m_mismatches = std::move(mismatches);
}

/// Updates the facts of a node; measures it again if its appearance changes.
void Scene::askNode(const SceneSource& source, std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    const Node* node = source.graph.find(shape.id);
    if (!node) return;
    const LaneBand* band = lane(node->lane);
    shape.device = band ? band->device : Device();
    const auto mark = m_marks.find(shape.id);
    shape.hasError = mark != m_marks.end() && mark->second == Severity::error;
    shape.hasWarning = mark != m_marks.end() && mark->second == Severity::warning;
    shape.isPinned = node->pinned;
    shape.isDisabled = node->disabled;
    shape.stops = {};
    shape.stops.add(node->breakpoints);
    if (const auto module = m_modules.find(slot); module != m_modules.end()) {
        shape.isDisabled = std::all_of(module->second.nodes.begin(), module->second.nodes.end(),
                                       [&](NodeId id) { return source.graph.find(id)->disabled; });
        for (const NodeId id : module->second.nodes) shape.stops.add(source.graph.find(id)->breakpoints);
    }
    const NodeFacts* facts = source.analysis.find(shape.id);
    std::uint64_t signature = mixed(1, std::hash<Device>()(shape.device));
    signature = mixed(
        signature, (facts && facts->op ? 2U : 0U) + (shape.hasError ? 4U : 0U) +
                       (shape.hasWarning ? 8U : 0U) + (source.devices.isSimulated(shape.device) ? 16U : 0U) +
                       (shape.isDisabled ? 32U : 0U) + 64U * source.graph.outgoing(shape.id).size());
    if (facts)
        for (const auto& type : facts->outputs) signature = mixed(signature, type);
    for (const auto& input : source.graph.inputs(shape.id)) {
        signature = mixed(signature, input ? value(input->node) + 5 : 9);
        if (input) signature = mixed(signature, source.analysis.typeOf(*input));
    }
    if (signature == shape.signature) return;
    shape.signature = signature;
    lift(slot); // until it is placed
    readFacts(source, *node, shape);
    m_cards.erase(slot);
    m_nodeLabels.erase(slot);
    touch(slot);
}

/// The wires of changed nodes, and other wires to check.
void Scene::restyleTouched(const SceneSource& source) {
    for (const std::uint32_t slot : m_touched) {
        const NodeId id = m_nodes[slot].id;
        if (id == NodeId::none) continue;
        for (const Edge& edge : source.graph.outgoing(id)) {
            if (const auto at = m_wireInto.find(edge.to); at != m_wireInto.end())
                m_restyle.push_back(at->second);
        }
        const auto count = static_cast<std::int32_t>(source.graph.inputs(id).size());
        for (std::int32_t port = 0; port < count; ++port) {
            if (const auto at = m_wireInto.find({id, port}); at != m_wireInto.end())
                m_restyle.push_back(at->second);
        }
    }
    restyleDisturbed();
    std::sort(m_restyle.begin(), m_restyle.end());
    m_restyle.erase(std::unique(m_restyle.begin(), m_restyle.end()), m_restyle.end());
    for (const std::uint32_t wire : m_restyle) {
        if (m_wires[wire].free) continue;
        styleWire(source, m_wires[wire]);
        routeWireOf(wire);
    }
    m_restyle.clear();
}

void Scene::finish(const SceneSource& source) {
    ++m_version;
    readLanes(source);
    readModules(source);
    readHidden(source);
    readMarks(source);
    for (std::size_t i = 0; i < m_asked.size(); ++i) {
        const std::uint32_t module = m_nodes[m_asked[i]].module;
        if (module != kNoSlot) ask(module); // its card describes its content
    }
    for (const std::uint32_t slot : m_asked) {
        m_isAsked[slot] = false;
        askNode(source, slot);
    }
    m_asked.clear();

    alignColumns();
    readNotes(source.graph);
    readStubs(source);
    for (const std::uint32_t slot : m_touched) countContent(slot);
    countHidden();
    stackLanes(source.graph);
    for (const std::uint32_t slot : m_touched) place(slot);
    placeStubs();
    layDots();
    for (NoteShape& note : m_notes)
        if (const LaneBand* band = lane(note.lane))
            note.rect.moveTo(note.at.x + note.drag.x(), band->top + note.at.y + note.drag.y());
    readFrames(source.graph);
    readGhosts(source);
    restyleTouched(source);
    for (const std::uint32_t slot : m_touched) m_isTouched[slot] = false;
    m_touched.clear();
}

} // namespace twb
