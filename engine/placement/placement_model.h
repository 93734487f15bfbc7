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

/// What the nodes of a graph would take on each device, by the profiles, as an AssignmentProblem. Sources
/// take nothing: they run once, before the iterations. What a size known at run time decides is priced as if
/// it were empty.
class PlacementModel {
public:
    struct Options {
        /// Whether a node may leave its device, for those that can: a step with a kernel on the other one, or
        /// a source, outside of the bodies of If, Loop and Scan.
        std::function<bool(const NodeFacts&)> mayMove;
        /// To nodes that change no dtype are looked through: who reads one reads the tensor behind it.
        bool throughTransfers = false;
        /// Everything a device holds must fit, as if no memory were used twice.
        bool withLimits = false;
    };
    PlacementModel(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                   const Options& options);

    const AssignmentProblem& problem() const noexcept { return m_problem; }
    AssignmentProblem& problem() noexcept { return m_problem; }
    /// By place; place 0 is cpu.
    const std::vector<Device>& devices() const noexcept { return m_devices; }
    int placeOf(Device device) const;
    /// By item; none for the host, who reads shapes and axes.
    const std::vector<NodeId>& nodes() const noexcept { return m_nodes; }
    std::uint32_t itemOf(NodeId node) const { return m_items.at(node); }
    /// Whether readers of a To read the tensor behind it: with `throughTransfers`, of a To that is a plain
    /// copy, that is read, that nobody pinned, and that runs as often as what it copies is made.
    bool isLookedThrough(const NodeFacts& facts) const;
    /// Whether an input takes a 0-dimensional tensor from the host without a copy.
    bool isHostScalar(const NodeFacts& facts, int port) const;
    /// The output that a tensor of the problem is, by its index there. A To that no reader shares has a
    /// tensor of its own.
    const std::vector<PortRef>& tensors() const noexcept { return m_tensors; }

private:
    /// Of a parameter that is folded into it, and stands where it does: they move together.
    const NodeFacts* readerThatTakesAlong(const NodeFacts& facts) const;
    void addItem(const NodeFacts& facts, const Options& options);
    void addReads(const NodeFacts& facts);
    void addTransfer(const NodeFacts& facts);
    std::uint32_t tensorAt(PortRef output);
    std::uint32_t addTensor(PortRef output, double bytes, bool isHoisted, const std::set<Device>& pinned);
    PortRef behindTransfers(PortRef from) const;
    bool takesHostScalars(const NodeFacts& facts) const;

    const Graph& m_graph;
    const Analysis& m_analysis;
    const DeviceMap& m_deviceMap;
    const Bodies m_bodies;
    const bool m_throughTransfers;
    AssignmentProblem m_problem;
    std::vector<Device> m_devices;
    std::vector<NodeId> m_nodes;
    std::unordered_map<NodeId, std::uint32_t> m_items;
    std::vector<PortRef> m_tensors;
    std::unordered_map<NodeId, std::vector<std::uint32_t>> m_tensorsOf; ///< by output; 0: not there, else + 1
    std::map<PortRef, std::set<Device>> m_pinned;  ///< where looked-through To nodes pin their tensor
    std::set<std::pair<PortRef, Device>> m_shared; ///< copies by other To nodes that readers can share
};

/// Whether a To is only a copy: it changes no dtype.
bool isPlainTransfer(const NodeFacts& facts, const Analysis& analysis);

} // namespace twb
