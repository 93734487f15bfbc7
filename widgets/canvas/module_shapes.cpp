#include "widgets/canvas/module_shapes.h"

#include "graph/repeated_modules.h"
#include "ops/op_table.h"
#include "widgets/canvas/node_looks.h"
#include "widgets/text.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace twb {
namespace {

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

/// A card: that of a collapsed module, or of a node.
using Card = std::pair<FrameId, NodeId>;

/// `collapsed` gives the collapsed frame of a frame.
Card cardOf(const Graph& graph, const std::unordered_map<FrameId, FrameId>& collapsed, NodeId id) {
    const auto frame = collapsed.find(graph.find(id)->frame);
    return frame == collapsed.end() ? Card(FrameId::none, id) : Card(frame->second, NodeId::none);
}

/// Groups ports by the cards at the other ends of their wires, in the order of these cards. Unconnected ports
/// stay apart and come last.
std::vector<std::vector<PortRef>> groupPorts(std::vector<std::pair<std::vector<Card>, PortRef>> ports) {
    std::sort(ports.begin(), ports.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.first.empty(), a) < std::tuple(b.first.empty(), b);
    });
    std::vector<std::vector<PortRef>> groups;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (i == 0 || ports[i].first.empty() || ports[i].first != ports[i - 1].first) groups.emplace_back();
        groups.back().push_back(ports[i].second);
    }
    return groups;
}

ModuleShape makeModule(const SceneSource& source, const std::unordered_map<FrameId, FrameId>& collapsed,
                       const Frame& frame, std::vector<NodeId> nodes) {
    const Graph& graph = source.graph;
    std::vector<std::pair<std::vector<Card>, PortRef>> ins;
    std::vector<std::pair<std::vector<Card>, PortRef>> outs;
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
            if (isConnected && !isInside(inputs[p]->node))
                ins.push_back({{cardOf(graph, collapsed, inputs[p]->node)}, {id, port}});
            else if (!isConnected && isInputRequired(op, port))
                ins.push_back({{}, {id, port}});
        }
        const auto& outgoing = graph.outgoing(id);
        for (const Edge& edge : outgoing) {
            if (isInside(edge.to.node)) continue;
            if (outs.empty() || outs.back().second != edge.from) outs.push_back({{}, edge.from});
            outs.back().first.push_back(cardOf(graph, collapsed, edge.to.node));
        }
        if (outgoing.empty() && op && !op->outputs.empty()) outs.push_back({{}, {id, 0}});
    }
    for (auto& [cards, output] : outs) {
        std::sort(cards.begin(), cards.end());
        cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
    }
    module.inputs = groupPorts(std::move(ins));
    module.outputs = groupPorts(std::move(outs));
    module.nodes = std::move(nodes);
    return module;
}

} // namespace

const ModuleShape* ModuleShapes::at(std::uint32_t slot) const noexcept {
    const auto found = m_modules.find(slot);
    return found == m_modules.end() ? nullptr : &found->second;
}

const ModuleShape* ModuleShapes::of(const NodeShape& shape) const noexcept {
    return shape.kind == NodeShape::Kind::module ? at(shape.module) : nullptr;
}

std::vector<NodeId> ModuleShapes::nodesOn(const NodeShape& shape) const {
    const ModuleShape* module = of(shape);
    return module ? module->nodes : std::vector<NodeId>{shape.id};
}

const NodeShape* ModuleShapes::cardOf(FrameId frame) const noexcept {
    for (const auto& [slot, module] : m_modules)
        if (module.frame == frame) return &m_nodes[slot];
    return nullptr;
}

PortRef ModuleShapes::portOf(const NodeShape& shape, PortSide side, int port) const noexcept {
    const ModuleShape* module = of(shape);
    if (!module) return {shape.id, port};
    const auto& ports = side == PortSide::input ? module->inputs : module->outputs;
    const auto n = static_cast<std::size_t>(port);
    return n < ports.size() ? ports[n].front() : PortRef{};
}

QPointF ModuleShapes::portAt(PortRef port, PortSide side) const noexcept {
    const NodeShape* own = m_nodes.find(port.node);
    if (!own) return {};
    if (own->module == kNoSlot) return portPosition(*own, side, port.port);
    const NodeShape& card = m_nodes[own->module];
    const ModuleShape* module = at(own->module);
    if (!module) return card.rect.center();
    const auto& ports = side == PortSide::input ? module->inputs : module->outputs;
    const auto at = std::find_if(ports.begin(), ports.end(), [&](const std::vector<PortRef>& group) {
        return std::find(group.begin(), group.end(), port) != group.end();
    });
    if (at == ports.end())
        return {side == PortSide::input ? card.rect.left() : card.rect.right(), card.rect.center().y()};
    return portPosition(card, side, static_cast<int>(at - ports.begin()));
}

void ModuleShapes::clear() {
    m_modules.clear();
    m_repeats.clear();
}

std::vector<NodeId> ModuleShapes::read(const SceneSource& source) {
    const Graph& graph = source.graph;
    const auto collapsed = collapsedFrames(graph, source.inside);
    if (collapsed.empty() && m_modules.empty()) return {};
    std::unordered_map<FrameId, std::vector<NodeId>> members;
    for (const Node& node : graph.nodes()) {
        const auto in = collapsed.find(node.frame);
        if (in != collapsed.end()) members[in->second].push_back(node.id);
    }
    m_modules.clear();
    std::unordered_map<std::uint32_t, std::uint32_t> cards; // by slot
    for (auto& [frame, nodes] : members) {
        // The card's shape is that of the module's first node.
        const std::uint32_t card = m_nodes.slotOf(nodes.front());
        for (const NodeId id : nodes) cards[m_nodes.slotOf(id)] = card;
        ModuleShape& module = m_modules[card] =
            makeModule(source, collapsed, *graph.find(frame), std::move(nodes));
        const auto [known, isNew] = m_repeats.emplace(frame, 0);
        if (isNew)
            known->second = repeatsIn(graph, frame, module.nodes, [&](const Node& node) {
                return source.analysis.typeOf({node.id, 0});
            });
        module.repeats = known->second;
    }
    std::vector<NodeId> changed;
    for (const Node& node : graph.nodes()) {
        const std::uint32_t slot = m_nodes.slotOf(node.id);
        NodeShape& shape = m_nodes[slot];
        const auto in = cards.find(slot);
        const std::uint32_t module = in == cards.end() ? kNoSlot : in->second;
        if (module != kNoSlot)
            m_nodes.touched.add(slot); // the card, whose ports may have changed, ends its wires
        if (shape.module == module && module != slot) continue;
        shape.module = module;
        shape.at = node.position;
        changed.push_back(node.id);
        m_nodes.measure(slot);
        m_nodes.touched.add(slot);
    }
    return changed;
}

void ModuleShapes::placeCards(const Graph& graph) {
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

} // namespace twb
