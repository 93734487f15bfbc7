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

/// Nodes whose devices differ from those in the graph.
using Moves = std::map<NodeId, Device>;

/// PyTorch's rule for the devices of operands, and the price of its fixes. Requires an analysis whose nodes
/// up to and including `facts` are complete.
class DeviceRule {
public:
    /// The maximum number of nodes between a tensor and its origin in a message.
    static constexpr std::size_t kFarthestOrigin = 64;

    DeviceRule(const Graph& graph, const DeviceMap& devices, const Analysis& analysis)
        : m_graph(graph), m_devices(devices), m_analysis(analysis) {}

    /// The input ports whose tensors are on a wrong device: not on the lane's device or, for host values
    /// (shapes, axes), not on cpu. An elementwise op accepts a 0-dimensional cpu tensor, as in PyTorch
    /// (TensorIterator treats it as a scalar).
    std::vector<int> mismatches(const NodeFacts& facts, const Moves& moves = {}) const;
    /// The required device of input `port`.
    Device wanted(const NodeFacts& facts, int port, const Moves& moves = {}) const;
    /// The diagnostic for such a port, with its operands. addFixes adds the fixes when all nodes are known.
    Diagnostic describe(const NodeFacts& facts, int port) const;
    /// The fixes, the cheapest first.
    void addFixes(Diagnostic& diagnostic) const;

    /// The move of a node, and of the parameters that are folded into it.
    Moves movesOf(NodeId node, Device device) const;
    /// Whether a fix may move a node there: it is not pinned to its lane, and it can run there.
    bool mayStandOn(NodeId node, Device device) const;
    /// A To for each operand that is on the right device before these moves but not after them. Consumers on
    /// one device share a copy, whose price counts for the first of them.
    std::vector<Fix> copiesFor(const Moves& moves) const;
    /// To nodes that, after these moves, copy a tensor to the device where its original is: copies of a
    /// tensor of a moved node, and moved To nodes. Each with the edges that bypass it.
    std::vector<Fix> detoursOf(const Moves& moves) const;
    /// The price of the copies in one iteration.
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

/// The node's name, or its op's name.
std::string labelOf(const Graph& graph, NodeId node);
/// `Gemm "fc1"`
std::string quoted(const Node& node);

} // namespace twb
