#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <map>
#include <string>
#include <vector>

namespace twb {

/// The rules for bodies: which nodes may read their tensors, that state nodes are in a body of the right
/// kind, and that a body returns each carried value with the type that it accepts. The owner of a body is its
/// If, Loop or Scan node. State nodes (Carried, ScanSlice, Iteration) are the inputs of a body. Adds
/// diagnostics with the code "body" to `analysis`.
class BodyRule {
public:
    BodyRule(const Graph& graph, const Bodies& bodies, Analysis& analysis);

    /// False if the node breaks a rule, as a part of a body or as an owner. Sets an owner's output sizes to
    /// those that hold for any number of iterations of its body. A Scan stacks as many results as it has
    /// slices, if their number is known. All nodes before `facts` in the analysis must be complete; the nodes
    /// of a body come before its owner.
    bool check(NodeFacts& facts, const Node& node);

private:
    bool checkReads(const NodeFacts& facts, const Node& node);
    bool checkState(const Node& node);
    bool checkOwner(NodeFacts& facts, const Node& node);
    bool checkCarried(NodeFacts& facts, const Node& node, const Body& body);
    void sizeStacks(NodeFacts& facts, const Body& body) const;
    Diagnostic& add(NodeId node, int port, std::string message);

    const Graph& m_graph;
    const Bodies& m_bodies;
    Analysis& m_out;
    std::map<FrameId, std::vector<NodeId>> m_carried, m_slices; ///< Carried and ScanSlice nodes, by body
};

/// The number of slices of a ScanSlice's input; kUnknownDim if it is known only at run time.
std::int64_t sliceCountOf(const Analysis& analysis, const NodeFacts& slice);

} // namespace twb
