#pragma once

#include "graph/graph.h"
#include "graph/unique_names.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace twb {

/// Changes of one pass over a graph, which are applied at once. Linear in the graph, unlike a DeltaBuilder
/// with many changes.
class Rewrite {
public:
    explicit Rewrite(const Graph& graph) : m_graph(graph) {}

    void change(Node after); ///< by id
    NodeId add(Node node);   ///< assigns the id
    void remove(NodeId id);  ///< with its edges
    /// Sets the source of an input; nothing: disconnects it.
    void connect(PortRef input, std::optional<PortRef> from) { m_inputs[input] = from; }
    /// The consumers of `output` read `from` instead.
    void replace(PortRef output, PortRef from) { m_replaced[output] = from; }
    /// The source of an input, with the changes so far.
    std::optional<PortRef> sourceOf(PortRef input) const;
    /// The node, with the changes so far.
    const Node& node(NodeId id) const;
    bool empty() const noexcept;

    void applyTo(Graph& graph) const; ///< the graph of the constructor, or a copy

private:
    PortRef resolved(PortRef output) const;

    const Graph& m_graph;
    std::unordered_map<NodeId, Node> m_changed;
    std::vector<Node> m_added;
    std::unordered_set<NodeId> m_removed;
    std::map<PortRef, std::optional<PortRef>> m_inputs;
    std::map<PortRef, PortRef> m_replaced;
};

/// Removes the nodes that lost all their consumers between two states of a graph, and then those that only
/// they read. Inputs, sinks and control ops stay, and so do nodes that had no consumer before.
void removeUnread(Graph& after, const Graph& before);

} // namespace twb
