#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace twb::pytorch {

/// A node that is written down, and the tensors that it reads there.
struct LiveNode {
    const NodeFacts* facts = nullptr;
    std::vector<PortRef> reads;
};

/// A function that will be written: the module's own (frame none), or that of a frame.
struct Scope {
    FrameId frame = FrameId::none;
    std::size_t parent = 0; ///< 0 is the root, its own parent
    /// What it does, in order: a node, or (node null) the call of another scope.
    struct Item {
        const LiveNode* node = nullptr;
        std::size_t scope = 0;
    };
    std::vector<Item> items;
    std::vector<PortRef> sources;   ///< that it holds: read here and in scopes inside alone
    std::vector<PortRef> arguments; ///< what comes from outside
    std::vector<PortRef> results;   ///< what others read
};

/// How the frames of a graph become functions that call each other. A frame is one when what it reads is
/// there before any of it has run; of frames that wait for each other the nodes go to the frame around.
class ModuleTree {
public:
    /// `live` in an order to run in.
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
    std::unordered_map<NodeId, std::size_t> m_place; ///< in m_live
    std::set<FrameId> m_dissolved;
    std::vector<Scope> m_scopes;
    std::map<FrameId, std::size_t> m_scopeOf;
    std::map<PortRef, std::size_t> m_sourceHome;
};

} // namespace twb::pytorch
