#pragma once

#include "graph/bodies.h"
#include "graph/composed_ops.h"
#include "graph/unique_names.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace twb {

/// Several nodes that compute what one op computes.
struct ComposedOp {
    NodeId last = NodeId::none; ///< its output 0 is the result
    std::set<NodeId> inner{};   ///< the other nodes; no other node may read them
    NodeId kept = NodeId::none; ///< the inner node that stays as an input of the op
    std::string op{};
    Attributes attributes{};
    std::vector<PortRef> inputs{};
    std::vector<TensorType> types{}; ///< of the inputs
};

/// The name of a node that gets another op: "/norm/Add_1" becomes "/norm/LayerNormalization_1".
std::string nameWithOp(const Node& node, const std::string& op);

/// Reads a graph for the functions of composed_ops.h, and replaces what they find.
class OpMatcher {
public:
    OpMatcher(const Graph& graph, const KnownTensors& known, Rewrite& rewrite)
        : m_graph(graph), m_known(known), m_rewrite(rewrite), m_bodies(graph), m_names(graph) {}

    const Graph& graph() const noexcept { return m_graph; }
    const KnownTensors& known() const noexcept { return m_known; }

    /// The node whose output 0 is `output` if it may be replaced and has this op; else null.
    const Node* find(std::optional<PortRef> output, std::string_view op) const;
    /// It is enabled, has no breakpoints, is in no body and in no earlier replacement.
    bool mayReplace(const Node& node) const;
    std::optional<PortRef> input(const Node& node, int port = 0) const {
        return m_graph.sourceOf({node.id, port});
    }
    /// The only consumer of output 0, if it may be replaced, has this op and reads it once; else null.
    const Node* onlyReader(const Node& node, std::string_view op) const;
    /// The other input of an op with two inputs; nothing if `one` is not an input.
    std::optional<PortRef> other(const Node& node, PortRef one) const;
    /// The number of a constant with one element.
    std::optional<double> number(std::optional<PortRef> output) const;
    /// Whether `given` differs from `wanted` by at most the rounding of `like`'s dtype.
    bool isNear(double given, double wanted, PortRef like) const;
    /// Whether the constant is `wanted`, rounded to the dtype of `like`.
    bool isNumber(std::optional<PortRef> output, double wanted, PortRef like) const;
    const TensorType* type(std::optional<PortRef> output) const;

    /// Replaces the nodes if no other node reads the inner ones, all are on one lane, and the result keeps
    /// its type.
    bool replace(const ComposedOp& found);
    const ReplacedByOp& replaced() const noexcept { return m_replaced; }

private:
    bool isClosed(const ComposedOp& found) const;
    bool fits(const ComposedOp& found) const;

    const Graph& m_graph;
    const KnownTensors& m_known;
    Rewrite& m_rewrite;
    Bodies m_bodies;
    UniqueNames m_names;
    std::unordered_set<NodeId> m_taken;
    ReplacedByOp m_replaced;
};

} // namespace twb
