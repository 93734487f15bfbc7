#include "graph/module_op.h"

#include "graph/module_tree.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace twb {
namespace {

/// The nodes of a body have their inputs and outputs in the body.
bool isInBody(const Fragment& fragment, const Node& node) {
    FrameId at = node.frame;
    for (std::size_t steps = 0; at != FrameId::none && steps <= fragment.frames.size(); ++steps) {
        const auto frame = std::ranges::find(fragment.frames, at, &Frame::id);
        if (frame == fragment.frames.end()) return false;
        if (frame->owner != NodeId::none) return true;
        at = frame->parent;
    }
    return false;
}

const Node* nodeOf(const Fragment& fragment, NodeId id) {
    const auto at = std::ranges::find(fragment.nodes, id, &Node::id);
    return at == fragment.nodes.end() ? nullptr : &*at;
}

/// `name`, else with a number.
std::string unusedName(std::set<std::string>& used, const std::string& name) {
    std::string out = name;
    for (int n = 2; !used.insert(out).second; ++n) out = fmt::format("{}{}", name, n);
    return out;
}

} // namespace

std::string toString(const ModuleRef& ref) { return fmt::format("{}@{}", ref.name, ref.version); }

std::optional<ModuleRef> madeFrom(const Frame& frame) {
    if (frame.owner != NodeId::none) return std::nullopt;
    const std::size_t at = frame.body.rfind('@');
    if (at == std::string::npos || at == 0) return std::nullopt;
    ModuleRef ref{frame.body.substr(0, at), 0};
    const char* end = frame.body.data() + frame.body.size();
    const auto [stop, error] = std::from_chars(frame.body.data() + at + 1, end, ref.version);
    if (error != std::errc() || stop != end || ref.version < 1) return std::nullopt;
    return ref;
}

void frameFragment(ModuleOp& op) {
    Fragment& fragment = op.fragment;
    const auto isOutermost = [](const Frame& frame) {
        return frame.parent == FrameId::none && frame.owner == NodeId::none;
    };
    const bool isFramed =
        std::ranges::count_if(fragment.frames, isOutermost) == 1 &&
        std::ranges::none_of(fragment.nodes, [](const Node& node) { return node.frame == FrameId::none; });
    if (!isFramed) {
        FrameId frame = FrameId(1);
        for (const Frame& other : fragment.frames)
            frame = std::max(frame, FrameId(static_cast<std::uint64_t>(other.id) + 1));
        for (Frame& other : fragment.frames)
            if (other.parent == FrameId::none) other.parent = frame; // also bodies
        for (Node& node : fragment.nodes)
            if (node.frame == FrameId::none) node.frame = frame;
        fragment.frames.push_back({frame, op.name, FrameId::none});
    }
    std::ranges::find_if(fragment.frames, isOutermost)->body = toString(op.ref());
}

void freeHomeLane(ModuleOp& op) {
    Fragment& fragment = op.fragment;
    std::map<LaneId, std::size_t> counts;
    for (const Node& node : fragment.nodes) ++counts[node.lane];
    const auto home = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (home == counts.end()) return;
    const auto laneOf = [&](LaneId id) -> const Lane* {
        const auto found = std::ranges::find(fragment.lanes, id, &Lane::id);
        return found == fragment.lanes.end() ? nullptr : &*found;
    };
    const Lane* homeLane = laneOf(home->first);
    const auto isFree = [&](LaneId id) {
        const Lane* lane = laneOf(id);
        return !lane || (homeLane && lane->device == homeLane->device);
    };
    for (Node& node : fragment.nodes)
        if (isFree(node.lane)) node.lane = LaneId::none;
    for (Route& route : fragment.routes)
        for (Dot& dot : route.dots)
            if (isFree(dot.lane)) dot.lane = LaneId::none;
}

void portsFromEdges(ModuleOp& op) {
    const Fragment& fragment = op.fragment;
    op.inputs.clear();
    op.outputs.clear();
    std::set<std::string> inputs;
    std::set<std::string> outputs;
    for (const Node& node : fragment.nodes) {
        const Op* inner = findOp(node.op);
        if (!inner || isInBody(fragment, node)) continue;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(inner->inputs.size()); ++i) {
            const PortSpec& port = inner->inputs[static_cast<std::size_t>(i)];
            const bool isConnected = std::ranges::any_of(fragment.edges, [&](const Edge& edge) {
                return edge.to == PortRef{node.id, i};
            });
            if (!port.optional && !isConnected)
                op.inputs.push_back({unusedName(inputs, port.name), {node.id, i}});
        }
        const bool isConsumed =
            std::ranges::any_of(fragment.edges, [&](const Edge& edge) { return edge.from.node == node.id; });
        if (!isConsumed && !inner->outputs.empty())
            op.outputs.push_back({unusedName(outputs, inner->outputs.front().name), {node.id, 0}});
    }
}

const Op* opOf(const ModuleOp& op, const ModuleOp::Setting& setting) noexcept {
    const Node* node = nodeOf(op.fragment, setting.node);
    return node ? findOp(node->op) : nullptr;
}

std::optional<AttributeSpec> specOf(const ModuleOp& op, const ModuleOp::Attribute& attribute) {
    const ModuleOp::Setting& first = attribute.sets.front();
    const Op* inner = opOf(op, first);
    const AttributeSpec* spec = inner ? inner->attribute(first.attribute) : nullptr;
    if (!spec) return std::nullopt;
    AttributeSpec out = *spec;
    out.name = attribute.name;
    if (!attribute.doc.empty()) out.doc = attribute.doc;
    if (const AttributeValue* value = nodeOf(op.fragment, first.node)->attributes.find(first.attribute)) {
        out.defaultValue = *value;
        out.required = false;
    }
    return out;
}

bool hasModuleOps(const Graph& graph) {
    return std::ranges::any_of(graph.frames(),
                               [](const Frame& frame) { return madeFrom(frame).has_value(); });
}

bool hasPort(const std::vector<ModuleOp::Port>& ports, PortRef at) {
    return std::ranges::find(ports, at, &ModuleOp::Port::at) != ports.end();
}

std::vector<NodeId> nodesMadeFrom(const Graph& graph, FrameId module, const ModuleOp& op) {
    const Frame* frame = graph.find(module);
    if (!frame || madeFrom(*frame) != op.ref()) return {};
    // Pasting gives the nodes ids in the order of the fragment.
    std::vector<NodeId> out = ModuleTree(graph).allNodesIn(module);
    const auto opOf = [&](NodeId id) { return graph.find(id)->op; };
    if (!std::ranges::equal(out, op.fragment.nodes, {}, opOf, &Node::op)) out.clear();
    return out;
}

Delta setModuleAttribute(const Graph& graph, FrameId module, const ModuleOp& op,
                         const ModuleOp::Attribute& attribute, const std::optional<AttributeValue>& value) {
    const std::vector<NodeId> nodes = nodesMadeFrom(graph, module, op);
    if (nodes.empty()) return {};
    DeltaBuilder builder(graph, {});
    for (const ModuleOp::Setting& setting : attribute.sets) {
        const auto at = std::ranges::find(op.fragment.nodes, setting.node, &Node::id);
        if (at == op.fragment.nodes.end()) continue;
        Node node = *builder.graph().find(nodes[static_cast<std::size_t>(at - op.fragment.nodes.begin())]);
        const AttributeValue* usual = at->attributes.find(setting.attribute);
        if (value)
            node.attributes.set(setting.attribute, *value);
        else if (usual)
            node.attributes.set(setting.attribute, *usual);
        else
            node.attributes.erase(setting.attribute);
        builder.change(node);
    }
    return builder.take();
}

} // namespace twb
