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
    bool disabled = false;
    std::optional<PortRef> passes; ///< what a disabled node's readers read instead of its output 0
    bool sound = false; ///< no error of its own and all inputs sound: compile may turn it into steps
};

/// A copy that the implicit policy makes: one for each (tensor, destination), whoever shares it.
struct ImplicitCopy {
    PortRef from;
    Device target;
    std::vector<Edge> edges; ///< served by it
    Price price;
    bool hoisted = false; ///< outside of the iteration: its source does not change
};

/// Everything the rules say about a graph, in one pass: types, devices, the order to run in, and all
/// diagnostics. A value; holds no reference to the graph.
struct Analysis {
    std::vector<NodeFacts>
        nodes; ///< in an order in which every node comes after its inputs; nodes on cycles last
    std::vector<Diagnostic> diagnostics; ///< errors first, each kind in the order of `nodes`
    std::vector<ImplicitCopy> implicitCopies;
    Policy policy;

    const NodeFacts* find(NodeId id) const noexcept;
    const std::optional<TensorType>& typeOf(PortRef output) const noexcept;
    /// What an input reads, disabled nodes left out: as in the facts of its node.
    std::optional<PortRef> sourceOf(PortRef input) const noexcept;
    std::size_t errorCount() const noexcept;
    bool hasErrors() const noexcept { return errorCount() > 0; }
    /// No errors but placeholders (unknown-op): what does not depend on these can run.
    bool mayRun() const noexcept;

    std::unordered_map<NodeId, std::uint32_t> index; ///< into nodes
};

/// Validates a graph: every device, shape and dtype mismatch, cycle, missing input, bad attribute, unknown
/// op, unsupported kernel and unreadable file, all at once. Linear in nodes and edges. `files` null: File
/// nodes have unknown types.
Analysis analyze(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files);

/// Whether a change can make any difference to what analyze() says: it cannot where things only move on the
/// canvas, or notes, titles, colours and the iterations change.
bool changesAnalysis(const Delta& delta);

/// What moving a tensor of `type` between two devices costs, by the profiles. Zero for the same device.
Price priceOfTransfer(const TensorType& type, Device from, Device to, bool pinned, const DeviceMap& devices);

} // namespace twb
