#include "graph/known_branches.h"

#include "graph/bodies.h"
#include "graph/delta.h"
#include "graph/module_tree.h"

#include <utility>
#include <vector>

namespace twb {
namespace {

/// The sources of the If's outputs, from the body that runs; empty if one is missing.
std::vector<PortRef> resultsOf(const Graph& graph, const Node& branch, bool isThen) {
    std::vector<PortRef> results;
    const auto inputs = static_cast<std::int32_t>(graph.inputs(branch.id).size());
    const std::int32_t count = (inputs - 1) / 2;
    for (std::int32_t i = 0; i < count; ++i) {
        const auto from = graph.sourceOf({branch.id, 1 + i + (isThen ? 0 : count)});
        if (!from) return {};
        results.push_back(*from);
    }
    return results;
}

/// The nodes and modules directly in the body get the If's module.
void moveOut(DeltaBuilder& builder, const Graph& graph, const ModuleTree& tree, FrameId body, FrameId to) {
    for (const NodeId id : tree.nodesIn(body)) {
        Node node = *graph.find(id);
        node.frame = to;
        builder.change(node);
    }
    for (const FrameId id : tree.modulesIn(body)) {
        Frame frame = *graph.find(id);
        frame.parent = to;
        builder.change(frame);
    }
    builder.removeFrame(body);
}

void removeAll(DeltaBuilder& builder, const ModuleTree& tree, FrameId body) {
    for (const NodeId id : tree.allNodesIn(body)) builder.removeNode(id);
    const auto levels = tree.levelsIn(body);
    for (auto level = levels.rbegin(); level != levels.rend(); ++level)
        for (const FrameId inner : *level) builder.removeFrame(inner);
    builder.removeFrame(body);
}

void take(Graph& graph, const Node& branch, bool isThen, const std::vector<PortRef>& results) {
    const Bodies bodies(graph);
    const ModuleTree tree(graph);
    DeltaBuilder builder(graph, "Take a branch");
    for (const Edge& edge : graph.outgoing(branch.id))
        builder.connect({results[static_cast<std::size_t>(edge.from.port)], edge.to});
    if (const Body* body = bodies.of(branch.id, isThen ? 1 : 0)) removeAll(builder, tree, body->frame);
    if (const Body* body = bodies.of(branch.id, isThen ? 0 : 1))
        moveOut(builder, graph, tree, body->frame, branch.frame);
    builder.removeNode(branch.id);
    graph.apply(builder.take());
}

} // namespace

int takeKnownBranches(Graph& graph, const KnownTensors& known,
                      const std::function<bool(const Node&)>& mayGo) {
    const Bodies bodies(graph);
    std::vector<std::pair<NodeId, bool>> found;
    for (const Node& node : graph.nodes()) {
        if (node.op != "If" || bodies.around(node.id) || !mayGo(node)) continue;
        const auto condition = graph.sourceOf({node.id, 0});
        const Tensor* value = condition ? known.value(*condition) : nullptr;
        if (value && value->elementCount() == 1) found.emplace_back(node.id, value->at(0) != 0);
    }
    int taken = 0;
    for (const auto& [id, isThen] : found) {
        const Node branch = *graph.find(id);
        const std::vector<PortRef> results = resultsOf(graph, branch, isThen);
        if (results.empty()) continue;
        take(graph, branch, isThen, results);
        ++taken;
    }
    return taken;
}

} // namespace twb
