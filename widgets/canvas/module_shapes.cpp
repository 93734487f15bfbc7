#include "widgets/canvas/module_shapes.h"

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

/// Sorts inputs by the cards and the ports that they come from; unconnected ones are last. `collapsed` gives
/// the collapsed frame of a frame.
void sortInputs(const Graph& graph, const std::unordered_map<FrameId, FrameId>& collapsed,
                std::vector<PortRef>& inputs) {
    const auto order = [&](PortRef input) {
        const std::optional<PortRef> source = graph.sourceOf(input);
        const Node* node = source ? graph.find(source->node) : nullptr;
        const auto frame = node ? collapsed.find(node->frame) : collapsed.end();
        return std::tuple(!source, frame == collapsed.end() ? FrameId::none : frame->second,
                          source.value_or(PortRef{}), input);
    };
    std::sort(inputs.begin(), inputs.end(), [&](PortRef a, PortRef b) { return order(a) < order(b); });
}

ModuleShape makeModule(const SceneSource& source, const Frame& frame, std::vector<NodeId> nodes) {
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
            if (isConnected ? !isInside(inputs[p]->node) : isInputRequired(op, port))
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

} // namespace

const ModuleShape* ModuleShapes::at(std::uint32_t slot) const noexcept {
    const auto found = m_modules.find(slot);
    return found == m_modules.end() ? nullptr : &found->second;
}

const ModuleShape* ModuleShapes::of(const NodeShape& shape) const noexcept {
    return shape.kind == NodeShape::Kind::module ? at(shape.module) : nullptr;
}

const NodeShape* ModuleShapes::cardOf(FrameId frame) const noexcept {
    for (const auto& [slot, module] : m_modules)
        if (module.frame == frame) return &m_nodes[slot];
    return nullptr;
}

PortRef ModuleShapes::portOf(const NodeShape& shape, PortSide side, int port) const noexcept {
    const ModuleShape* module = of(shape);
    if (!module) return {shape.id, port};
    const std::vector<PortRef>& ports = side == PortSide::input ? module->inputs : module->outputs;
    const auto n = static_cast<std::size_t>(port);
    return n < ports.size() ? ports[n] : PortRef{};
}

QPointF ModuleShapes::portAt(PortRef port, PortSide side) const noexcept {
    const NodeShape* own = m_nodes.find(port.node);
    if (!own) return {};
    if (own->module == kNoSlot) return portPosition(*own, side, port.port);
    const NodeShape& card = m_nodes[own->module];
    const ModuleShape* module = at(own->module);
    if (!module) return card.rect.center();
    const std::vector<PortRef>& ports = side == PortSide::input ? module->inputs : module->outputs;
    const auto at = std::find(ports.begin(), ports.end(), port);
    if (at == ports.end())
        return {side == PortSide::input ? card.rect.left() : card.rect.right(), card.rect.center().y()};
    return portPosition(card, side, static_cast<int>(at - ports.begin()));
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
        ModuleShape& module = m_modules[card] = makeModule(source, *graph.find(frame), std::move(nodes));
        sortInputs(graph, collapsed, module.inputs);
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
