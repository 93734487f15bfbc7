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

/// What is known of one node before anything runs.
struct NodeFacts {
    NodeId id = NodeId::none;
    const Op* op = nullptr; ///< null for an unknown op, and for a disabled node, which has no part in a run
    Device device;          ///< resolved
    Attributes attributes;  ///< complete; empty when `sound` is false
    /// By input port. Behind disabled nodes: what they pass on; one that passes nothing is named itself.
    std::vector<std::optional<PortRef>> inputs;
    /// Output types; nothing when they could not be inferred. Unknown dimensions are possible.
    std::vector<std::optional<TensorType>> outputs;
    /// Its value when the host can know it before the run and something asks for it (a Constant that feeds
    /// a shape); empty otherwise.
    Tensor value;
    std::vector<int> copied;       ///< input ports whose tensors the policy copies from another device
    std::optional<PortRef> passes; ///< what a disabled node's readers read instead of its output 0
    std::uint64_t rank = 0;        ///< above those of its inputs, but on a cycle
    bool disabled = false;
    bool fine = false;  ///< its types are known and nothing is wrong with it, whatever is with its inputs
    bool asked = false; ///< `value` was asked for: it is known, or cannot be
    bool noted = false; ///< some diagnostic is, or was, about it
};

/// A copy that the implicit policy makes: one for each (tensor, destination), whoever shares it.
struct ImplicitCopy {
    PortRef from;
    Device target;
    std::vector<Edge> edges; ///< served by it
    Price price;
    bool hoisted = false; ///< outside of the iteration: its source does not change
};

/// What a To of few bytes adds to the lint small-copies. In integers, so that a sum does not depend on its
/// order.
struct SmallCopy {
    NodeId to = NodeId::none;
    Device from;
    Device target;
    std::uint64_t bytes = 0;
    std::int64_t picoseconds = 0;
};

/// Everything the rules say about a graph: types, devices, and all diagnostics. A value; holds no reference
/// to the graph.
struct Analysis {
    /// From analyze(), in an order in which every node comes after its inputs, nodes on cycles last; after
    /// reanalyze() in any order, see NodeFacts::rank.
    std::vector<NodeFacts> nodes;
    /// Errors first, then warnings, then notes: what is about no node, then by rank.
    std::vector<Diagnostic> diagnostics;
    std::vector<ImplicitCopy> implicitCopies; ///< in no order
    std::vector<SmallCopy> smallCopies;       ///< in no order
    Policy policy;
    /// No cycles, no disabled nodes, no bodies: what the rules say of a node depends on what is near it.
    bool isPlain = false;

    const NodeFacts* find(NodeId id) const noexcept;
    const std::optional<TensorType>& typeOf(PortRef output) const noexcept;
    /// What an input reads, disabled nodes left out: as in the facts of its node.
    std::optional<PortRef> sourceOf(PortRef input) const noexcept;
    std::size_t errorCount() const noexcept;
    bool hasErrors() const noexcept { return errorCount() > 0; }
    /// No errors but placeholders (unknown-op): what does not depend on these can run.
    bool mayRun() const noexcept;
    /// By node: whether compile may turn it into steps, as it and all before it are fine. Needs the order of
    /// analyze().
    std::vector<bool> soundNodes() const;

    std::unordered_map<NodeId, std::uint32_t> index; ///< into nodes
};

/// Validates a graph: every device, shape and dtype mismatch, cycle, missing input, bad attribute, unknown
/// op, unsupported kernel and unreadable file, all at once. Linear in nodes and edges. `files` null: File
/// nodes have unknown types.
Analysis analyze(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files);

/// The nodes of which an analysis says something else than it did before a change.
struct Revised {
    bool all = false;
    std::vector<NodeId> nodes; ///< where it is not all of them; those that are gone are not among them
};

/// Brings the analysis of a graph up to date with `graph`, which it became by `delta`: afterwards it says
/// what analyze() would, but for the order of `nodes`. The time goes with how much a change touches: the
/// nodes whose types, devices or words it alters and those around them. A change of lanes' devices, of the
/// policy or of bodies, and any change of a graph that is not plain, is analysed whole. Nothing comes back,
/// and nothing is done, for a change that the rules do not see: things move on the canvas, or notes, titles
/// and colours change.
std::optional<Revised> reanalyze(Analysis& analysis, const Graph& graph, const Delta& delta,
                                 const DeviceMap& devices, const TensorFiles* files);

/// What moving a tensor of `type` between two devices costs, by the profiles. Zero for the same device.
Price priceOfTransfer(const TensorType& type, Device from, Device to, bool pinned, const DeviceMap& devices);

} // namespace twb
