#pragma once

#include "placement/analysis.h"
#include "placement/body_rule.h"
#include "placement/device_rule.h"
#include "placement/disabled_rule.h"

#include <optional>
#include <span>
#include <vector>

namespace twb {

class InferError;

/// The rules for single nodes, checked after the nodes that they read.
class NodeRules {
public:
    /// `analysis` receives the diagnostics and has the facts of other nodes.
    NodeRules(const Graph& graph, const Bodies& bodies, const DeviceMap& devices, const TensorFiles* files,
              Analysis& analysis)
        : m_graph(graph), m_bodies(bodies), m_devices(devices), m_files(files), m_out(analysis),
          m_rule(graph, devices, m_out), m_bodyRule(graph, bodies, m_out),
          m_disabledRule(graph, bodies, m_out) {}

    /// Completes the facts of a node, whose id and rank are set, and adds its diagnostics. The fixes of a
    /// device mismatch come later from DeviceRule::addFixes(), which also needs the node's consumers.
    void check(NodeFacts& facts, const Node& node, const Links& links);
    /// See DisabledRule. Call it after all nodes are checked.
    void nameEdges() { m_disabledRule.nameEdges(); }

private:
    void checkNode(NodeFacts& facts, const Node& node, const Links& links);
    std::optional<TensorType> wouldMake(NodeFacts& facts, const Node& node);
    std::string originOf(const std::string& op) const;
    std::vector<const TensorType*> inputTypes(const NodeFacts& facts) const;
    bool checkPorts(const NodeFacts& facts, const Node& node);
    bool checkInputs(const NodeFacts& facts, const Node& node, std::span<const TensorType* const> types);
    bool checkDevices(NodeFacts& facts);
    bool inferOutputs(NodeFacts& facts, const Node& node, std::span<const TensorType* const> types);
    bool checkSupport(const NodeFacts& facts, const Node& node);
    bool checkConversion(const NodeFacts& facts, const Node& node);
    const Tensor* hostValue(PortRef from, int depth = 0);
    const Tensor* gatheredSizes(NodeFacts& facts, int depth);
    void add(Diagnostic d) { m_out.diagnostics.push_back(std::move(d)); }
    Diagnostic describe(const InferError& e, const NodeFacts& facts, const Node& node) const;
    Fix castFix(const Edge& edge, DType dtype) const;

    const Graph& m_graph;
    const Bodies& m_bodies;
    const DeviceMap& m_devices;
    const TensorFiles* m_files;
    Analysis& m_out;
    DeviceRule m_rule;
    BodyRule m_bodyRule;
    DisabledRule m_disabledRule;
};

} // namespace twb
