#pragma once

#include "placement/analysis.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace twb {

/// What is allowed but costs more than it need, or does not do what it says. Adds to the diagnostics of an
/// analysis in which the facts of all nodes are filled in:
///
/// - `ping-pong` (warning): a To that brings a tensor back to a device that has it already.
/// - `non-blocking-pageable` (warning): `non_blocking` of a copy from pageable memory, which has no effect
///   (cudaMemcpyAsync stages such a source before it returns).
/// - `read-before-complete` (warning): a `non_blocking` copy to the host that is read there. A run here waits
///   for it; PyTorch does not.
/// - `transfer-in-iteration` (note): a copy in every iteration of what does not change.
/// - `small-copies` (note): many copies between two devices that take longer to start than to run.
/// - `tiny-op` (note): an op that would take less time where its operands come from and its result goes to
///   than the copies there and back take.
class Lints {
public:
    Lints(const Graph& graph, const DeviceMap& devices, Analysis& analysis)
        : m_graph(graph), m_devices(devices), m_analysis(analysis) {}

    /// One node, at most once, if it is fine; a small copy is noted in the analysis.
    void lookAt(const NodeFacts& facts);
    /// What the noted small copies come to.
    void sumUp();

private:
    const NodeFacts* factsOf(const std::optional<PortRef>& from) const {
        return from ? m_analysis.find(from->node) : nullptr;
    }
    std::string label(NodeId node) const;
    Price priceOf(PortRef tensor, Device from, Device to, bool pinned = false) const;
    Diagnostic& add(Severity severity, std::string code, NodeId node, std::string message);
    Fix setting(NodeId node, const std::string& attribute, std::optional<AttributeValue> value,
                Price price) const;
    void lookAtTransfer(const NodeFacts& to);
    void lookAtComingBack(const NodeFacts& to, const NodeFacts& source);
    void lookAtBlocking(const NodeFacts& to, const NodeFacts& source);
    void lookAtWhatStays(const NodeFacts& to, const NodeFacts& source);
    bool isFirstThere(const NodeFacts& to, const NodeFacts& source);
    void lookAtOp(const NodeFacts& facts);

    const Graph& m_graph;
    const DeviceMap& m_devices;
    Analysis& m_analysis;
    std::map<std::pair<NodeId, Device>, NodeId> m_first; ///< of a source's copies to a device
};

} // namespace twb
