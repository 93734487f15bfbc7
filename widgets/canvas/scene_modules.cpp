#include "ops/op_table.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFontMetricsF>

#include <algorithm>
#include <iterator>
#include <limits>

namespace twb {
namespace {

constexpr double kTextSides = 28; ///< left and right of a card's text

/// By frame: the outermost collapsed frame that is or contains it. The open module and its parents do not
/// count.
std::unordered_map<FrameId, FrameId> collapsedFrames(const Graph& graph, FrameId inside) {
    std::unordered_map<FrameId, FrameId> out;
    std::unordered_set<FrameId> open;
    for (const Frame* at = graph.find(inside); at && open.insert(at->id).second;
         at = graph.find(at->parent)) {
    }
    for (const Frame& frame : graph.frames()) {
        FrameId outermost = FrameId::none;
        std::size_t steps = graph.frames().size(); // ends cycles of parents
        for (const Frame* at = &frame; at && steps-- > 0; at = graph.find(at->parent))
            if (at->collapsed && !open.contains(at->id)) outermost = at->id;
        if (outermost != FrameId::none) out[frame.id] = outermost;
    }
    return out;
}

/// The combined run state of a module's nodes.
struct ModuleRun {
    NodeRun run;             ///< the time is the sum
    bool isMeasured = false; ///< a part of the time is measured
    double progress = 0;
};

ModuleRun sumOf(const ModuleShape& module, const RunState* run) {
    ModuleRun sum;
    if (!run) return sum;
    std::size_t known = 0;
    std::size_t through = 0;
    double onceNs = 0;
    const auto has = [&](StepState state) {
        // Failed before running, running before done.
        constexpr StepState kRank[] = {StepState::pending,  StepState::done,    StepState::cached,
                                       StepState::skipped,  StepState::running, StepState::cancelled,
                                       StepState::poisoned, StepState::failed};
        const auto place = [&](StepState s) { return std::find(std::begin(kRank), std::end(kRank), s); };
        if (place(state) > place(sum.run.state)) sum.run.state = state;
    };
    for (const NodeId id : module.nodes) {
        const auto at = run->nodes.find(id);
        if (at == run->nodes.end()) continue;
        const NodeRun& node = at->second;
        ++known;
        if (node.state != StepState::pending && node.state != StepState::running) ++through;
        has(node.state);
        if (node.once) {
            onceNs += node.ns;
            continue;
        }
        sum.run.ns += node.ns;
        if (node.ns > 0) (node.modelled ? sum.run.modelled : sum.isMeasured) = true;
    }
    if (known > 0) sum.progress = double(through) / double(known);
    if (through < known && through > 0 && run->running) has(StepState::running);
    // Times outside the iterations count only if there are no others.
    if (sum.run.ns > 0 || onceNs <= 0) return sum;
    sum.run.ns = onceNs;
    sum.run.once = true;
    for (const NodeId id : module.nodes)
        if (const auto at = run->nodes.find(id); at != run->nodes.end() && at->second.ns > 0)
            (at->second.modelled ? sum.run.modelled : sum.isMeasured) = true;
    return sum;
}

/// Whether a required input is not connected.
bool isWaiting(const Op* op, int port) {
    return op && port < op->minimumInputs() && !op->inputAt(port).optional;
}

} // namespace

const NodeShape* Scene::drawn(NodeId id) const noexcept {
    const auto found = m_slotOf.find(id);
    return found == m_slotOf.end() ? nullptr : &m_nodes[drawnSlot(found->second)];
}

const ModuleShape* Scene::moduleOf(const NodeShape& shape) const noexcept {
    if (shape.kind != NodeShape::Kind::module) return nullptr;
    const auto found = m_modules.find(shape.module);
    return found == m_modules.end() ? nullptr : &found->second;
}

const NodeShape* Scene::cardOfModule(FrameId frame) const noexcept {
    for (const auto& [slot, module] : m_modules)
        if (module.frame == frame) return &m_nodes[slot];
    return nullptr;
}

PortRef Scene::portOf(const NodeShape& shape, PortSide side, int port) const noexcept {
    const ModuleShape* module = moduleOf(shape);
    if (!module) return {shape.id, port};
    const std::vector<PortRef>& ports = side == PortSide::input ? module->inputs : module->outputs;
    const auto n = static_cast<std::size_t>(port);
    return n < ports.size() ? ports[n] : PortRef{};
}

QPointF Scene::portAt(PortRef port, PortSide side) const noexcept {
    const NodeShape* own = node(port.node);
    if (!own) return {};
    if (own->module == kNoSlot) return portPosition(*own, side, port.port);
    const NodeShape& card = m_nodes[own->module];
    const auto found = m_modules.find(own->module);
    if (found == m_modules.end()) return card.rect.center();
    const std::vector<PortRef>& ports =
        side == PortSide::input ? found->second.inputs : found->second.outputs;
    const auto at = std::find(ports.begin(), ports.end(), port);
    if (at == ports.end())
        return {side == PortSide::input ? card.rect.left() : card.rect.right(), card.rect.center().y()};
    return portPosition(card, side, static_cast<int>(at - ports.begin()));
}

ModuleShape Scene::makeModule(const SceneSource& source, const Frame& frame,
                              std::vector<NodeId> nodes) const {
    const Graph& graph = source.graph;
    ModuleShape module;
    module.frame = frame.id;
    module.title = toQt(frame.title);
    module.color = frame.color;
    const auto isInside = [&](NodeId id) { return std::binary_search(nodes.begin(), nodes.end(), id); };
    for (const NodeId id : nodes) {
        const NodeFacts* facts = source.analysis.find(id);
        const Op* op = facts ? facts->op : nullptr;
        const auto& inputs = graph.inputs(id);
        const int count = std::max(static_cast<int>(inputs.size()), op ? op->minimumInputs() : 0);
        for (int port = 0; port < count; ++port) {
            const auto p = static_cast<std::size_t>(port);
            const bool isConnected = p < inputs.size() && inputs[p];
            if (isConnected ? !isInside(inputs[p]->node) : isWaiting(op, port))
                module.inputs.push_back({id, port});
        }
        const auto& outgoing = graph.outgoing(id);
        for (const Edge& edge : outgoing)
            if (!isInside(edge.to.node) && (module.outputs.empty() || module.outputs.back() != edge.from))
                module.outputs.push_back(edge.from);
        if (outgoing.empty() && op && !op->outputs.empty()) module.outputs.push_back({id, 0});
    }
    module.nodes = std::move(nodes);
    return module;
}

/// The nodes that are drawn as one card. The card's shape is that of the module's first node.
void Scene::readModules(const SceneSource& source) {
    const Graph& graph = source.graph;
    const auto collapsed = collapsedFrames(graph, source.inside);
    if (collapsed.empty() && m_modules.empty()) return;
    std::unordered_map<FrameId, std::vector<NodeId>> members;
    for (const Node& node : graph.nodes()) {
        const auto in = collapsed.find(node.frame);
        if (in != collapsed.end()) members[in->second].push_back(node.id);
    }
    m_modules.clear();
    std::unordered_map<std::uint32_t, std::uint32_t> cards; // by slot
    for (auto& [frame, nodes] : members) {
        const std::uint32_t card = m_slotOf.at(nodes.front());
        for (const NodeId id : nodes) cards[m_slotOf.at(id)] = card;
        m_modules[card] = makeModule(source, *graph.find(frame), std::move(nodes));
    }
    std::vector<NodeId> changed;
    for (const Node& node : graph.nodes()) {
        const std::uint32_t slot = m_slotOf.at(node.id);
        NodeShape& shape = m_nodes[slot];
        const auto in = cards.find(slot);
        const std::uint32_t module = in == cards.end() ? kNoSlot : in->second;
        if (module != kNoSlot) touch(slot); // its wires end at the card, whose ports may have changed
        if (shape.module == module && module != slot) continue;
        shape.module = module;
        shape.at = node.position;
        changed.push_back(node.id);
        measure(slot);
        touch(slot);
    }
    readFolds(graph, changed); // the card of a module has no rows
    // The card is at the top left corner of the module's content.
    for (const auto& [slot, module] : m_modules) {
        NodeShape& shape = m_nodes[slot];
        constexpr double kFar = std::numeric_limits<double>::max();
        Position corner{kFar, kFar};
        for (const NodeId id : module.nodes) {
            const Node& node = *graph.find(id);
            if (node.lane == shape.lane && !node.folded)
                corner = {std::min(corner.x, node.position.x), std::min(corner.y, node.position.y)};
        }
        if (corner.x < kFar) shape.at = corner;
    }
}

void Scene::prepareModule(const SceneSource& source, const NodeShape& shape, NodeCard& card,
                          const RunState* run, bool isNew) const {
    const ModuleShape* module = moduleOf(shape);
    if (!module) return;
    const ModuleRun sum = sumOf(*module, run);
    card.moduleRun = sum.run;
    card.progress = sum.progress;
    const bool timeChanged =
        sum.run.ns != card.timeNs || sum.run.modelled != card.isModelled || sum.run.once != card.isOnce;
    if (timeChanged) {
        card.timeNs = sum.run.ns;
        card.isModelled = sum.run.modelled;
        card.isOnce = sum.run.once;
        const bool hasTime = sum.run.ns > 0;
        const QString time = hasTime ? cardTime(sum.run.ns) : QString();
        const QString word =
            hasTime ? moduleTimeRemark(sum.run.modelled, sum.isMeasured, sum.run.once) : QString();
        card.timeWidth =
            time.isEmpty() ? 0 : QFontMetricsF(font(TextRole::smallFigure)).horizontalAdvance(time);
        card.remarkWidth = word.isEmpty() ? 0 : QFontMetricsF(font(TextRole::small)).horizontalAdvance(word);
        setText(card.time, time, TextRole::smallFigure);
        setText(card.remark, word, TextRole::small);
    }
    if (!isNew && !timeChanged) return;
    const ModuleWords words = moduleWords(*module, source.analysis);
    const double room = shape.rect.width() - kTextSides;
    const auto left = [room](double taken) { return room - (taken > 0 ? taken + 8 : 0); };
    setText(card.title, elided(module->title, TextRole::nodeTitle, left(card.timeWidth)),
            TextRole::nodeTitle);
    setText(card.shortTitle, elided(module->title, TextRole::nodeTitle, room / kShortTitleScale),
            TextRole::nodeTitle);
    setText(card.subtitle, elided(words.caption, TextRole::body, left(card.remarkWidth)), TextRole::body);
    const QString chip = elided(words.chip, TextRole::smallFigure, room - 34);
    card.chipWidth = chip.isEmpty() ? 0 : QFontMetricsF(font(TextRole::smallFigure)).horizontalAdvance(chip);
    setText(card.chip, chip, TextRole::smallFigure);
    const auto look = [&](PortRef port, bool isConnected) {
        return PortLook{wireClassOf(source.analysis.typeOf(port)),
                        isConnected ? PortLook::State::connected : PortLook::State::missing};
    };
    card.inputs.clear();
    for (const PortRef port : module->inputs) {
        const auto from = source.graph.sourceOf(port);
        card.inputs.push_back(look(from.value_or(PortRef{}), from.has_value()));
    }
    card.outputs.clear();
    for (const PortRef port : module->outputs) card.outputs.push_back(look(port, true));
}

} // namespace twb
