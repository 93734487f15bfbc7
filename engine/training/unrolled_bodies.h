#pragma once

#include "graph/bodies.h"
#include "ops/gradient.h"
#include "placement/analysis.h"

#include <map>
#include <span>
#include <vector>

namespace twb {

/// Unrolls the bodies of an If, Loop or Scan: adds their ops once per run. The gradient of these ops is the
/// gradient of the control op.
class UnrolledBodies {
public:
    /// `analysis` and `bodies` are of the same graph.
    UnrolledBodies(const Analysis& analysis, const Bodies& bodies) : m_analysis(analysis), m_bodies(bodies) {}

    /// All tensors that `owner` and its bodies read from outside, without duplicates.
    std::vector<PortRef> captured(const NodeFacts& owner) const;
    /// Adds the unrolled ops and returns the tensors that stand for `owner`'s outputs. Input i of the context
    /// is captured tensor i. Refuses a number of runs that is known only at run time, and ops that cannot be
    /// recomputed.
    std::vector<GraphTensor> outputs(GradientContext& g, const NodeFacts& owner);

private:
    const Analysis& m_analysis;
    const Bodies& m_bodies;
    GradientContext* m_g = nullptr;
    std::vector<PortRef> m_captured;
    std::map<PortRef, GraphTensor> m_values; ///< in the current run of each body

    std::vector<const NodeFacts*> nodesOf(const Body& body) const;
    bool isInside(NodeId node, NodeId owner) const;
    const Tensor* knownAt(const NodeFacts& owner, int port) const;
    GraphTensor valueOf(PortRef at);
    std::vector<GraphTensor> outputsOf(const NodeFacts& owner);
    std::vector<GraphTensor> outputsOfIf(const NodeFacts& owner);
    std::vector<GraphTensor> outputsOfRepeated(const NodeFacts& owner, const Body& body);
    std::int64_t runsOf(const NodeFacts& owner, const Body& body) const;
    void run(const Body& body, std::int64_t iteration, std::int64_t runs,
             const std::vector<GraphTensor>& carried);
    void addAgain(const NodeFacts& facts);
};

} // namespace twb
