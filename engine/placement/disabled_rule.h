#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// What it means that a node is disabled: it is not run, and whoever reads its output 0 reads the first of
/// its inputs that has the dtype and the shape that this output would have. Where no input has, as with a
/// source, what needs the node is not run, and says so. Works on an analysis whose nodes before the one in
/// question are filled in.
class DisabledRule {
public:
    DisabledRule(const Graph& graph, const Bodies& bodies, Analysis& analysis)
        : m_graph(graph), m_bodies(bodies), m_out(analysis) {}

    /// Replaces what disabled nodes would have made by what they pass on.
    void follow(std::vector<std::optional<PortRef>>& inputs) const;
    /// Says what is passed on instead of `facts`, which would make `made`; nothing: that cannot be told, and
    /// its readers judge for themselves.
    void standAside(NodeFacts& facts, const std::optional<TensorType>& made);
    /// Warns of a node that cannot run without a disabled one.
    void checkReads(const NodeFacts& facts);
    /// Gives diagnostics and copies the edges of the graph in place of those around disabled nodes.
    void nameEdges();

private:
    Diagnostic& add(Severity severity, NodeId node, NodeId disabled, std::string message);
    Edge drawn(const Edge& edge) const;

    const Graph& m_graph;
    const Bodies& m_bodies;
    Analysis& m_out;
    bool m_any = false;
};

/// The graph as it runs: without its disabled nodes, each wire led around them. Throws Error(badGraph), which
/// names `format`, where something cannot run without one of them.
Graph exportable(const Graph& graph, const Analysis& analysis, std::string_view format);
/// The edges from a node to those that read it, also through disabled nodes that pass its output on; then
/// `from` is its output all the same.
std::vector<Edge> readersOf(const Graph& graph, const Analysis& analysis, NodeId node);

} // namespace twb
