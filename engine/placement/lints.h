#pragma once

#include "placement/analysis.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace twb {

/// Findings about graphs that run but cost more than necessary, or do not do what they seem to do. Requires
/// an analysis with the facts of all nodes. Nodes of frames that run once have no lints. Adds to the
/// diagnostics:
/// - `ping-pong` (warning): a To that copies a tensor back to a device that already has it.
/// - `non-blocking-pageable` (warning): `non_blocking` of a copy from pageable memory, which has no effect
/// (cudaMemcpyAsync stages such a source before it returns).
/// - `read-before-complete` (warning): the host reads the result of a `non_blocking` copy. Runs here wait for
/// the copy; PyTorch does not.
/// - `transfer-in-iteration` (note): a constant tensor is copied in every iteration.
/// - `waits-for-data` (note): each iteration waits for a blocking copy of its batch, or of tensors that ops
/// on the cpu compute from it, although Batches can load and copy it during the previous iteration
/// (prefetch).
/// - `created-elsewhere` (note): a tensor of an imported program is created in every iteration only to be
/// copied to another device.
/// - `sync` (note): the host waits for a device in every iteration of an imported program.
/// - `small-copies` (note): many copies between two devices that are dominated by latency.
/// - `tiny-op` (note): an op that would be faster on the device of its operands than with the copies there
/// and back.
class Lints {
public:
    /// `waits-for-data` looks at most this many edges back from a copy for its Batches.
    static constexpr std::size_t kFarthestBatches = 16;

    Lints(const Graph& graph, const DeviceMap& devices, Analysis& analysis)
        : m_graph(graph), m_devices(devices), m_analysis(analysis) {}

    /// Checks one node without errors; call it at most once per node. Small copies are recorded in the
    /// analysis.
    void lookAt(const NodeFacts& facts);
    /// Reports the recorded small copies.
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
    const NodeFacts* batchesOf(const NodeFacts& reader) const;
    void lookAtBatches(const NodeFacts& to, const NodeFacts& source);
    void lookAtImported(const NodeFacts& to, const NodeFacts& source);
    void lookAtSync(const NodeFacts& facts);
    bool isFirstThere(const NodeFacts& to, const NodeFacts& source);
    void lookAtOp(const NodeFacts& facts);

    const Graph& m_graph;
    const DeviceMap& m_devices;
    Analysis& m_analysis;
    std::map<std::pair<NodeId, Device>, NodeId> m_first; ///< the first copy of a source to a device
};

} // namespace twb
