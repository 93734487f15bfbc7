#include "graph/module_tree.h"

#include <algorithm>

namespace twb {

ModuleTree::ModuleTree(const Graph& graph) : m_graph(graph) {
    for (const Frame& frame : graph.frames()) m_modules[frame.parent].push_back(frame.id);
}

std::vector<std::vector<FrameId>> ModuleTree::levelsIn(FrameId module) const {
    std::vector<std::vector<FrameId>> levels;
    for (std::vector<FrameId> level = modulesIn(module); !level.empty();) {
        std::vector<FrameId> next;
        for (const FrameId frame : level) {
            const std::vector<FrameId>& inner = modulesIn(frame);
            next.insert(next.end(), inner.begin(), inner.end());
        }
        levels.push_back(std::exchange(level, std::move(next)));
    }
    return levels;
}

const std::vector<FrameId>& ModuleTree::modulesIn(FrameId module) const noexcept {
    static const std::vector<FrameId> none;
    const auto found = m_modules.find(module);
    return found == m_modules.end() ? none : found->second;
}

const std::vector<NodeId>& ModuleTree::nodesIn(FrameId module) const {
    if (m_nodes.empty())
        for (const Node& node : m_graph.nodes()) m_nodes[node.frame].push_back(node.id);
    return m_nodes[module];
}

std::vector<NodeId> ModuleTree::allNodesIn(FrameId module) const {
    std::vector<NodeId> nodes = nodesIn(module);
    for (const std::vector<FrameId>& level : levelsIn(module)) {
        for (const FrameId inner : level) {
            const std::vector<NodeId>& more = nodesIn(inner);
            nodes.insert(nodes.end(), more.begin(), more.end());
        }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

bool liesIn(const Graph& graph, FrameId inner, FrameId outer) {
    std::size_t steps = graph.frames().size(); // ends cycles of frames
    for (const Frame* at = graph.find(inner); at; at = graph.find(at->parent)) {
        if (at->id == outer) return true;
        if (steps-- == 0) break;
    }
    return false;
}

} // namespace twb
