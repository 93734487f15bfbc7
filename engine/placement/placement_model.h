#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"
#include "placement/assignment.h"

#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace twb {

/// The predicted times of a graph's nodes on each device, as an AssignmentProblem. Sources cost nothing: they
/// run once, before the iterations. A size that is known only at run time counts as 0. Each node stays on its
/// rank.
class PlacementModel {
public:
    struct Options {
        /// Whether a node may leave its device. Only for nodes that can: a step with a kernel on the other
        /// device, or a source, outside the bodies of If, Loop and Scan.
        std::function<bool(const NodeFacts&)> mayMove;
        /// Looks through To nodes that keep the dtype: their consumers count as consumers of the original
        /// tensor.
        bool throughTransfers = false;
        /// All tensors of a device must fit, without reuse of memory.
        bool withLimits = false;
    };
    PlacementModel(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                   const Options& options);

    const AssignmentProblem& problem() const noexcept { return m_problem; }
    AssignmentProblem& problem() noexcept { return m_problem; }
    /// By place; place 0 is cpu.
    const std::vector<Device>& devices() const noexcept { return m_devices; }
    int placeOf(Device device) const;
    /// By item; none for the hosts, which read shapes and axes.
    const std::vector<NodeId>& nodes() const noexcept { return m_nodes; }
    std::uint32_t itemOf(NodeId node) const { return m_items.at(node); }
    /// Whether the consumers of a To count as consumers of its source: with `throughTransfers`, if the To is
    /// a plain copy, has consumers, is not pinned, and runs as often as its source. A To to another rank, and
    /// one whose copy is taken to another rank, have a time of their own.
    bool isLookedThrough(const NodeFacts& facts) const;
    /// Whether an input takes a 0-dimensional tensor from the host of its rank without a copy.
    bool isHostScalar(const NodeFacts& facts, int port) const;
    /// The output that corresponds to a tensor of the problem, by its index. A To that cannot be shared has a
    /// tensor of its own.
    const std::vector<PortRef>& tensors() const noexcept { return m_tensors; }

private:
    /// Merges a folded parameter with its node: they move together.
    const NodeFacts* readerThatTakesAlong(const NodeFacts& facts) const;
    void addHost(Device host);
    void addItem(const NodeFacts& facts, const Options& options);
    void addReads(const NodeFacts& facts);
    void addTransfer(const NodeFacts& facts);
    std::uint32_t tensorAt(PortRef output);
    std::uint32_t addTensor(PortRef output, double bytes, bool isHoisted, const std::set<Device>& pinned);
    PortRef behindTransfers(PortRef from) const;
    PortRef readBy(const NodeFacts& facts, PortRef input) const;
    bool goesToOtherRank(const NodeFacts& facts) const;
    bool takesHostScalars(const NodeFacts& facts) const;

    const Graph& m_graph;
    const Analysis& m_analysis;
    const DeviceMap& m_deviceMap;
    const Bodies m_bodies;
    const bool m_throughTransfers;
    AssignmentProblem m_problem;
    std::vector<Device> m_devices;
    std::vector<NodeId> m_nodes;
    std::map<int, std::uint32_t> m_hosts; ///< by rank: the item of values that its host reads; of rank 0: 0
    std::unordered_map<NodeId, std::uint32_t> m_items;
    std::vector<PortRef> m_tensors;
    std::unordered_map<NodeId, std::vector<std::uint32_t>> m_tensorsOf; ///< by output: index + 1; 0: none
    std::map<PortRef, std::set<Device>> m_pinned;         ///< where looked-through To nodes pin their tensor
    std::set<NodeId> m_sentOn;                            ///< nodes whose tensors a To takes to another rank
    std::map<std::pair<PortRef, int>, PortRef> m_arrived; ///< by tensor and other rank: its copy there
    std::set<std::pair<PortRef, Device>> m_shared;        ///< copies by other To nodes that readers can share
};

/// Whether a To is only a copy: it keeps the dtype.
bool isPlainTransfer(const NodeFacts& facts, const Analysis& analysis);

} // namespace twb
