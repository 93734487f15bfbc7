#include "widgets/module_edits.h"

#include "graph/folding.h"
#include "graph/module_tree.h"
#include "widgets/edit_title.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace twb {
namespace {

Delta changeOf(const Frame& before, Frame after, std::string title) {
    Delta delta;
    delta.title = std::move(title);
    delta.frames.push_back({before, std::move(after)});
    return delta;
}

} // namespace

void putIn(FrameId module, Delta& delta) {
    if (module == FrameId::none) return;
    for (Change<Node>& change : delta.nodes)
        if (!change.before && change.after->frame == FrameId::none) change.after->frame = module;
    for (Change<Frame>& change : delta.frames)
        if (!change.before && change.after->parent == FrameId::none) change.after->parent = module;
}

Delta makeModule(const Graph& graph, const Selection& selection) {
    if (selection.nodes.empty()) return {};
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Make module")));
    FrameId parent = graph.find(*selection.nodes.begin())->frame;
    for (const NodeId id : selection.nodes)
        if (graph.find(id)->frame != parent) parent = FrameId::none;
    const FrameId frame = builder.addFrame({FrameId::none, "Module", parent});
    for (const NodeId id : withFolded(graph, {selection.nodes.begin(), selection.nodes.end()})) {
        Node node = *graph.find(id);
        node.frame = frame;
        builder.change(node);
    }
    return builder.take();
}

FrameId moduleOf(const Graph& graph, const Selection& selection, FrameId open) {
    if (selection.nodes.empty()) return FrameId::none;
    const auto isInside = [&](FrameId frame) {
        return std::all_of(selection.nodes.begin(), selection.nodes.end(), [&](NodeId id) {
            const Node* node = graph.find(id);
            return node && liesIn(graph, node->frame, frame);
        });
    };
    const auto isAll = [&](FrameId frame) {
        const std::vector<NodeId> nodes = nodesOfModule(graph, frame);
        return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            return selection.nodes.contains(id) || selection.nodes.contains(cardOf(graph, id));
        });
    };
    FrameId innermost = FrameId::none;
    FrameId whole = FrameId::none;
    std::size_t steps = graph.frames().size();
    for (const Frame* at = graph.find(graph.find(*selection.nodes.begin())->frame); at && steps-- > 0;
         at = graph.find(at->parent)) {
        if (at->id == open) {
            if (innermost == FrameId::none) innermost = open;
            break;
        }
        if (!isInside(at->id)) continue;
        if (innermost == FrameId::none) innermost = at->id;
        if (isAll(at->id)) whole = at->id;
    }
    return whole != FrameId::none ? whole : innermost;
}

Delta renameModule(const Graph& graph, FrameId module, const QString& title) {
    const Frame* before = graph.find(module);
    if (!before) return {};
    Frame after = *before;
    after.title = title.trimmed().toStdString();
    if (after.title.empty() || after == *before) return {};
    std::string step = editTitle(EditTitle::tr("Rename module %1 to %2"), before->title, after.title);
    return changeOf(*before, std::move(after), std::move(step));
}

Delta colorModule(const Graph& graph, FrameId module, FrameColor color) {
    const Frame* before = graph.find(module);
    if (!before || before->color == color) return {};
    Frame after = *before;
    after.color = color;
    return changeOf(*before, std::move(after), editTitle(EditTitle::tr("Colour module %1"), before->title));
}

Delta collapseModule(const Graph& graph, FrameId module) {
    const Frame* before = graph.find(module);
    if (!before || before->collapsed) return {};
    Frame after = *before;
    after.collapsed = true;
    return changeOf(*before, std::move(after), editTitle(EditTitle::tr("Collapse module %1"), before->title));
}

Delta dissolveModule(const Graph& graph, FrameId module) {
    const Frame* frame = graph.find(module);
    if (!frame || frame->owner != NodeId::none) return {};
    Delta delta;
    delta.title = editTitle(EditTitle::tr("Dissolve module %1"), frame->title);
    for (const Node& node : graph.nodes()) {
        if (node.frame != module) continue;
        Node after = node;
        after.frame = frame->parent;
        delta.nodes.push_back({node, std::move(after)});
    }
    for (const Frame& inner : graph.frames()) {
        if (inner.parent != module) continue;
        Frame after = inner;
        after.parent = frame->parent;
        delta.frames.push_back({inner, std::move(after)});
    }
    delta.frames.push_back({*frame, std::nullopt});
    return delta;
}

std::vector<NodeId> nodesOfModule(const Graph& graph, FrameId module) {
    return module == FrameId::none ? std::vector<NodeId>() : ModuleTree(graph).allNodesIn(module);
}

Fragment moduleFragment(const Graph& graph, FrameId module) {
    Fragment fragment = copyOf(graph, nodesOfModule(graph, module));
    std::erase_if(fragment.frames, [&](const Frame& frame) { return !liesIn(graph, frame.id, module); });
    constexpr double kFar = std::numeric_limits<double>::max();
    Position corner{kFar, kFar};
    for (Frame& frame : fragment.frames)
        if (frame.id == module) frame.parent = FrameId::none;
    for (const Node& node : fragment.nodes)
        if (!foldedInto(graph, node))
            corner = {std::min(corner.x, node.position.x), std::min(corner.y, node.position.y)};
    const auto fromCorner = [&](Position& at) {
        at = {std::max(0.0, at.x - corner.x), std::max(0.0, at.y - corner.y)};
    };
    for (Node& node : fragment.nodes) fromCorner(node.position);
    for (Route& route : fragment.routes)
        for (Dot& dot : route.dots) fromCorner(dot.position);
    return fragment;
}

namespace {

constexpr double kInputWidth = 220; ///< the column of the Identity nodes of inputs
constexpr double kInputHeight = 96;

std::string fresh(std::set<std::string>& used, const std::string& name) {
    std::string out = name;
    for (int n = 2; !used.insert(out).second; ++n) out = name + std::to_string(n);
    return out;
}

std::set<std::string> namesOf(const std::vector<ModuleOp::Port>& ports) {
    std::set<std::string> names;
    for (const ModuleOp::Port& port : ports) names.insert(port.name);
    return names;
}

/// Gives inputs to the tensors that come from outside, and outputs to those that leave, after the ports that
/// the op has already.
void takePorts(ModuleOp& op, const Graph& graph, const std::set<NodeId>& inside, FrameId module) {
    std::set<std::string> names = namesOf(op.inputs);
    std::map<PortRef, std::vector<PortRef>> readers; ///< by a source outside
    std::vector<PortRef> sources;                    ///< in the order of the first reader
    for (const NodeId id : inside) {
        const auto& inputs = graph.inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port) {
            if (!inputs[port] || inside.contains(inputs[port]->node) ||
                hasPort(op.inputs, {id, std::int32_t(port)}))
                continue;
            auto& all = readers[*inputs[port]];
            if (all.empty()) sources.push_back(*inputs[port]);
            all.push_back({id, std::int32_t(port)});
        }
    }
    const auto isSeveral = [&](PortRef source) { return readers[source].size() > 1; };
    const auto several = std::ranges::count_if(sources, isSeveral);
    if (several > 0) {
        for (Node& node : op.fragment.nodes) node.position.x += kInputWidth;
        for (auto& route : op.fragment.routes)
            for (Dot& dot : route.dots) dot.position.x += kInputWidth;
    }
    std::uint64_t next = value(*inside.rbegin());
    double y = 0;
    for (const PortRef source : sources) {
        const Node& from = *graph.find(source.node);
        const std::string name = fresh(names, from.name);
        const std::vector<PortRef>& all = readers[source];
        if (all.size() == 1) {
            op.inputs.push_back({name, all.front()});
            continue;
        }
        Node identity;
        identity.id = NodeId(++next);
        identity.op = "Identity";
        identity.name = name;
        identity.lane = graph.find(all.front().node)->lane;
        identity.frame = module;
        identity.position = {0, y};
        y += kInputHeight;
        for (const PortRef reader : all) op.fragment.edges.push_back({{identity.id, 0}, reader});
        op.inputs.push_back({name, {identity.id, 0}});
        op.fragment.nodes.push_back(std::move(identity));
    }
    ModuleOp open;
    open.fragment = op.fragment;
    portsFromEdges(open);
    for (const ModuleOp::Port& port : open.inputs)
        if (!hasPort(op.inputs, port.at)) op.inputs.push_back({fresh(names, port.name), port.at});
    names = namesOf(op.outputs);
    for (const NodeId id : inside)
        for (const Edge& edge : graph.outgoing(id)) {
            if (!inside.contains(edge.to.node) && !hasPort(op.outputs, edge.from))
                op.outputs.push_back({fresh(names, graph.find(id)->name), edge.from});
        }
    for (const ModuleOp::Port& port : open.outputs)
        if (!hasPort(op.outputs, port.at))
            op.outputs.push_back({fresh(names, graph.find(port.at.node)->name), port.at});
}

} // namespace

ModuleOp moduleOpOf(const Graph& graph, FrameId module, const ModuleOp* before) {
    ModuleOp op;
    op.fragment = moduleFragment(graph, module);
    for (Frame& frame : op.fragment.frames)
        if (frame.id == module) frame.body.clear(); // it becomes the name of this op
    const std::vector<NodeId> nodes = nodesOfModule(graph, module);
    if (nodes.empty()) return op;
    const std::set<NodeId> inside(nodes.begin(), nodes.end());
    if (!before) {
        takePorts(op, graph, inside, module);
        return op;
    }
    op.doc = before->doc;
    // By their order or, if nodes were added or removed, by their ops.
    const std::vector<NodeId> made = nodesMadeFrom(graph, module, *before);
    const auto now = [&](NodeId id) {
        const auto at = std::ranges::find(before->fragment.nodes, id, &Node::id);
        if (at == before->fragment.nodes.end()) return NodeId::none;
        if (!made.empty()) return made[std::size_t(at - before->fragment.nodes.begin())];
        const auto isAlike = [&](NodeId node) { return graph.find(node)->op == at->op; };
        const auto alike = std::ranges::find_if(nodes, isAlike);
        return std::ranges::count_if(nodes, isAlike) == 1 ? *alike : NodeId::none;
    };
    if (!made.empty()) {
        for (const ModuleOp::Port& port : before->inputs) {
            const PortRef at{now(port.at.node), port.at.port};
            const auto source = graph.sourceOf(at);
            if (!source || !inside.contains(source->node)) op.inputs.push_back({port.name, at});
        }
        for (const ModuleOp::Port& port : before->outputs)
            op.outputs.push_back({port.name, {now(port.at.node), port.at.port}});
    }
    takePorts(op, graph, inside, module);
    for (ModuleOp::Attribute attribute : before->attributes) {
        for (ModuleOp::Setting& setting : attribute.sets) setting.node = now(setting.node);
        std::erase_if(attribute.sets, [](const auto& setting) { return setting.node == NodeId::none; });
        if (!attribute.sets.empty()) op.attributes.push_back(std::move(attribute));
    }
    return op;
}

bool isMadeFrom(const Graph& graph, FrameId module, const ModuleOp& op, const std::set<NodeId>& nodes) {
    const std::vector<NodeId> made = nodesMadeFrom(graph, module, op);
    return !made.empty() && std::ranges::all_of(made, [&](NodeId id) {
        return nodes.contains(id) || nodes.contains(cardOf(graph, id));
    });
}

} // namespace twb
