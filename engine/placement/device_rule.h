#pragma once

#include "graph/diagnostic.h"
#include "placement/analysis.h"

#include <string>
#include <vector>

namespace twb {

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
    std::vector<int> mismatches(const NodeFacts& facts) const;
    /// Where input `port` must be.
    Device wanted(const NodeFacts& facts, int port) const;
    /// The diagnostic of one such port, with its operands. Fixes are added by addFixes, once all nodes are
    /// known.
    Diagnostic describe(const NodeFacts& facts, int port) const;
    void addFixes(Diagnostic& diagnostic) const;
    /// What the copies of one iteration to and from a node cost, stood it on `device`.
    Price priceOfStanding(NodeId node, Device device) const;

private:
    std::string origin(const NodeFacts& source) const;

    const Graph& m_graph;
    const DeviceMap& m_devices;
    const Analysis& m_analysis;
};

/// The node's name, or its op's where it has none.
std::string labelOf(const Graph& graph, NodeId node);
/// `Gemm "fc1"`
std::string quoted(const Node& node);

} // namespace twb
