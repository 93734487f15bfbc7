#pragma once

#include "graph/diagnostic.h"
#include "placement/analysis.h"
#include "placement/tensor_copies.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twb {

/// Nodes that stand on other devices than in their graph.
using Moves = std::map<NodeId, Device>;

/// PyTorch's rule for where operands may live, and what it costs to satisfy it. Works on an analysis whose
/// nodes up to and including `facts` are filled in.
class DeviceRule {
public:
    /// Nodes that a message goes back over to say where a tensor was made.
    static constexpr std::size_t kFarthestOrigin = 64;

    DeviceRule(const Graph& graph, const DeviceMap& devices, const Analysis& analysis)
        : m_graph(graph), m_devices(devices), m_analysis(analysis) {}

    /// Input ports of a node whose tensors are not where they must be: on the lane's device, or, for values
    /// that the host reads (shapes, axes), on cpu. A 0-dimensional cpu tensor may meet tensors of another
    /// device in an elementwise op, as in PyTorch (TensorIterator treats it as a scalar argument).
    std::vector<int> mismatches(const NodeFacts& facts, const Moves& moves = {}) const;
    /// Where input `port` must be.
    Device wanted(const NodeFacts& facts, int port, const Moves& moves = {}) const;
    /// The diagnostic of one such port, with its operands. Fixes are added by addFixes, once all nodes are
    /// known.
    Diagnostic describe(const NodeFacts& facts, int port) const;
    /// The ways to mend it, the cheapest first.
    void addFixes(Diagnostic& diagnostic) const;

    /// The move of a node, and of the parameters that are folded into it.
    Moves movesOf(NodeId node, Device device) const;
    /// Whether a fix may move a node there: it is not pinned to its lane, and it can run there.
    bool mayStandOn(NodeId node, Device device) const;
    /// A To for each operand that was on the right device before these moves, and is not afterwards. Readers
    /// on one device share a copy, which the first of them pays for.
    std::vector<Fix> copiesFor(const Moves& moves) const;
    /// To nodes that bring a tensor of a moved node back to where it is after these moves, each with the way
    /// past it.
    std::vector<Fix> detoursOf(const Moves& moves) const;
    /// What the copies cost in one iteration.
    Price priceOf(const Moves& moves) const;

private:
    Device deviceOf(NodeId node, const Moves& moves) const;
    std::string origin(const NodeFacts& source) const;
    bool hasOperandAtHome(const NodeFacts& facts) const;
    Fix insertFix(const Diagnostic& diagnostic, Device target) const;
    const Price& priceOfMoving(NodeId node, Device device) const;

    const Graph& m_graph;
    const DeviceMap& m_devices;
    const Analysis& m_analysis;
    mutable std::map<std::pair<NodeId, Device>, Price> m_prices; ///< of the moves that fixes offer
    mutable std::optional<TensorCopies> m_copies;                ///< made for the first fix
};

/// The node's name, or its op's where it has none.
std::string labelOf(const Graph& graph, NodeId node);
/// `Gemm "fc1"`
std::string quoted(const Node& node);

} // namespace twb
