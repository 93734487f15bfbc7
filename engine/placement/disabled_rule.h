#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// The rule for disabled nodes. A disabled node does not run. Consumers of its output 0 read its first input
/// with the dtype and shape of that output instead. Without such an input, as for a source, its consumers do
/// not run and get a warning. Requires an analysis whose nodes before the current one are complete.
class DisabledRule {
public:
    DisabledRule(const Graph& graph, const Bodies& bodies, Analysis& analysis)
        : m_graph(graph), m_bodies(bodies), m_out(analysis) {}

    /// Replaces outputs of disabled nodes by the tensors that they pass on.
    void follow(std::vector<std::optional<PortRef>>& inputs) const;
    /// Finds the tensor that is passed on instead of `facts`, whose output would be `made`. `made` is null if
    /// unknown; then consumers are checked separately.
    void standAside(NodeFacts& facts, const std::optional<TensorType>& made);
    /// Warns about a node that cannot run without a disabled one.
    void checkReads(const NodeFacts& facts);
    /// Assigns diagnostics and copies to the edges of the graph, instead of the edges around disabled nodes.
    void nameEdges();

private:
    Diagnostic& add(Severity severity, NodeId node, NodeId disabled, std::string message);
    Edge drawn(const Edge& edge) const;

    const Graph& m_graph;
    const Bodies& m_bodies;
    Analysis& m_out;
    bool m_any = false;
};

/// The graph without its disabled nodes, with their wires connected around them. Throws Error(badGraph) that
/// names `format` if a node cannot run without a disabled one.
Graph exportable(const Graph& graph, const Analysis& analysis, std::string_view format);
/// The edges from a node to its consumers, including consumers behind disabled nodes; `from` is always the
/// node's output.
std::vector<Edge> readersOf(const Graph& graph, const Analysis& analysis, NodeId node);

} // namespace twb
