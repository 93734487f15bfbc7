#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace twb::pytorch {

/// A node to write, and the tensors that it reads.
struct LiveNode {
    const NodeFacts* facts = nullptr;
    std::vector<PortRef> reads;
};

/// A function to write: the module's main function (frame none), or the function of a frame.
struct Scope {
    FrameId frame = FrameId::none;
    std::size_t parent = 0; ///< 0 is the root, which is its own parent
    /// Its statements in order: a node, or (node null) a call of another scope.
    struct Item {
        const LiveNode* node = nullptr;
        std::size_t scope = 0;
    };
    std::vector<Item> items;
    std::vector<PortRef> sources;   ///< its constants: read only here and in inner scopes
    std::vector<PortRef> arguments; ///< tensors from outside
    std::vector<PortRef> results;   ///< tensors that other scopes read
};

/// Turns the frames of a graph into functions that call each other. A frame becomes a function if all its
/// inputs are known before any of its nodes runs. Otherwise its nodes go to the frame around it.
class ModuleTree {
public:
    /// `live`: in an order of execution.
    ModuleTree(const Graph& graph, const Bodies& bodies, const std::vector<LiveNode>& live);

    const std::vector<Scope>& scopes() const noexcept { return m_scopes; } ///< [0] is the root

private:
    NodeId itemOf(NodeId node) const;
    std::size_t homeOf(NodeId node) const;
    std::size_t common(std::size_t a, std::size_t b) const;
    std::size_t depth(std::size_t scope) const;
    void makeScopes();
    bool order();
    void findSources();
    void findValues();

    const Graph& m_graph;
    const Bodies& m_bodies;
    const std::vector<LiveNode>& m_live;
    std::unordered_map<NodeId, std::size_t> m_place; ///< index in m_live
    std::set<FrameId> m_dissolved;
    std::vector<Scope> m_scopes;
    std::map<FrameId, std::size_t> m_scopeOf;
    std::map<PortRef, std::size_t> m_sourceHome;
};

} // namespace twb::pytorch
