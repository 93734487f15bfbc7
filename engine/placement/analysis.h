#pragma once

#include "backends/device_map.h"
#include "core/tensor_files.h"
#include "graph/diagnostic.h"
#include "graph/graph.h"
#include "ops/op_table.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

/// The facts about one node before a run.
struct NodeFacts {
    NodeId id = NodeId::none;
    const Op* op = nullptr; ///< null for an unknown op, and for a disabled node, which does not run
    Device device;          ///< resolved
    Attributes attributes;  ///< complete; empty if `sound` is false
    /// By input port. A disabled source is replaced by the tensor that it passes on; if it passes none, by
    /// itself.
    std::vector<std::optional<PortRef>> inputs;
    /// Output types; nothing if they could not be inferred. Dimensions may be unknown.
    std::vector<std::optional<TensorType>> outputs;
    /// The node's value, if it is needed before the run and known (a Constant that feeds a shape); else
    /// empty.
    Tensor value;
    std::vector<int> copied; ///< input ports whose tensors the policy copies from another device
    std::optional<PortRef>
        passes;             ///< for a disabled node: the tensor that its consumers read instead of output 0
    std::uint64_t rank = 0; ///< above the ranks of its inputs, except on a cycle
    bool disabled = false;
    bool fine = false;  ///< its types are known and it has no error of its own; its inputs may have errors
    bool asked = false; ///< `value` was requested: it is known, or cannot be
    bool noted = false; ///< a diagnostic is, or was, about this node

    /// Completes the dtypes of the inputs for Backend::supports: with those of narrow outputs, and for a node
    /// without inputs with that of the first output.
    void addOutputs(std::vector<DType>& dtypes) const;
};

/// A copy made by the implicit policy: one per (tensor, destination), shared by the consumers.
struct ImplicitCopy {
    PortRef from;
    Device target;
    std::vector<Edge> edges; ///< the edges that it serves
    Price price;
    bool hoisted = false; ///< outside the iteration: its source is constant
};

/// The contribution of a small To to the lint small-copies. Integers, so that the sum does not depend on the
/// order.
struct SmallCopy {
    NodeId to = NodeId::none;
    Device from;
    Device target;
    std::uint64_t bytes = 0;
    std::int64_t picoseconds = 0;
};

/// The result of all rules for a graph: types, devices and diagnostics. A value, without references to the
/// graph.
struct Analysis {
    /// After analyze(), each node comes after its inputs, and nodes on cycles come last. After reanalyze()
    /// the order is arbitrary; see NodeFacts::rank.
    std::vector<NodeFacts> nodes;
    /// Errors, then warnings, then notes; in each group, diagnostics without a node first, then by rank.
    std::vector<Diagnostic> diagnostics;
    std::vector<ImplicitCopy> implicitCopies; ///< unordered
    std::vector<SmallCopy> smallCopies;       ///< unordered
    Policy policy;
    int ranks = 1; ///< World::size of the devices' world
    /// No cycles, disabled nodes or bodies: the facts of a node depend only on its neighbourhood.
    bool isPlain = false;

    const NodeFacts* find(NodeId id) const noexcept;
    const std::optional<TensorType>& typeOf(PortRef output) const noexcept;
    /// The source of an input, with disabled nodes skipped, as in the facts of its node.
    std::optional<PortRef> sourceOf(PortRef input) const noexcept;
    std::size_t errorCount() const noexcept;
    bool hasErrors() const noexcept { return errorCount() > 0; }
    /// No errors except placeholders (unknown-op): nodes that do not depend on them can run.
    bool mayRun() const noexcept;
    /// By node: whether the node and all its ancestors have no errors, so that compile can make steps of
    /// them. Requires the order of analyze().
    std::vector<bool> soundNodes() const;

    std::unordered_map<NodeId, std::uint32_t> index; ///< index in nodes
};

/// Validates a graph: reports all device, shape and dtype mismatches, cycles, missing inputs, bad attributes,
/// unknown ops, unsupported kernels and unreadable files at once. Linear in nodes and edges. If `files` is
/// null, File nodes have unknown types.
Analysis analyze(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files);

/// The nodes whose facts changed.
struct Revised {
    bool all = false;
    std::vector<NodeId> nodes; ///< if not all of them; without removed nodes
};

/// Updates the analysis of a graph after `delta` made it `graph`: the result equals that of analyze(), except
/// for the order of `nodes`. The time depends on the number of nodes whose types, devices or diagnostics
/// change, and their neighbours. A change of a lane's device, of the policy or of bodies, and any change of a
/// graph that is not plain, is analysed completely. Returns no nodes for a change that the rules do not see,
/// such as positions, notes, titles and colours.
std::optional<Revised> reanalyze(Analysis& analysis, const Graph& graph, const Delta& delta,
                                 const DeviceMap& devices, const TensorFiles* files);

/// The cost of moving a tensor of `type` between two devices, from the profiles. Zero for the same device.
Price priceOfTransfer(const TensorType& type, Device from, Device to, bool pinned, const DeviceMap& devices);

} // namespace twb
