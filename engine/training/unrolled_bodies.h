#pragma once

#include "graph/bodies.h"
#include "ops/gradient.h"
#include "placement/analysis.h"

#include <map>
#include <span>
#include <vector>

namespace twb {

/// The ops of the bodies of an If, Loop or Scan once more, one after the other as often as they run. Their
/// gradient is that of the control op.
class UnrolledBodies {
public:
    /// `analysis` and `bodies` are of the same graph.
    UnrolledBodies(const Analysis& analysis, const Bodies& bodies) : m_analysis(analysis), m_bodies(bodies) {}

    /// The floating tensors and others that the control op and its bodies read from outside.
    std::vector<PortRef> captured(const NodeFacts& owner) const;
    /// Adds the ops; the outputs of `owner`. Input i of the context is the captured tensor i. Refuses a
    /// number of runs that is known only at run time, and ops that would not give the same result again.
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
