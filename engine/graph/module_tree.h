#pragma once

#include "graph/graph.h"

#include <unordered_map>
#include <vector>

namespace twb {

/// The modules of a graph by their parents. A snapshot: it does not follow edits of the graph. For one
/// thread.
class ModuleTree {
public:
    explicit ModuleTree(const Graph& graph);

    /// The modules inside a module (none: all modules), by level: those directly in it, those in these, …
    std::vector<std::vector<FrameId>> levelsIn(FrameId module = FrameId::none) const;
    /// The modules directly inside a module; none: the outermost ones. In the order of their ids.
    const std::vector<FrameId>& modulesIn(FrameId module) const noexcept;
    /// The nodes directly inside a module; none: those in no module. In the order of their ids.
    const std::vector<NodeId>& nodesIn(FrameId module) const;
    /// The nodes inside a module at any level, in the order of their ids; none: all nodes.
    std::vector<NodeId> allNodesIn(FrameId module) const;

private:
    Graph m_graph;
    std::unordered_map<FrameId, std::vector<FrameId>> m_modules;
    mutable std::unordered_map<FrameId, std::vector<NodeId>> m_nodes; ///< read when they are first asked for
};

/// Whether `inner` is `outer` or is nested in it; false if `outer` is none.
bool liesIn(const Graph& graph, FrameId inner, FrameId outer);

} // namespace twb
