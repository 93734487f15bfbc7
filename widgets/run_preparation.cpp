#include "widgets/run_preparation.h"

#include "core/error.h"
#include "graph/delta.h"
#include "ops/op_table.h"
#include "placement/update_rule.h"

#include <algorithm>

namespace twb {
namespace {

/// Small outputs first, up to a total of kKeptBytes.
std::set<PortRef> outputsToKeep(const Analysis& analysis) {
    std::vector<std::pair<std::uint64_t, PortRef>> outputs;
    for (const NodeFacts& facts : analysis.nodes)
        for (std::size_t port = 0; port < facts.outputs.size(); ++port) {
            const std::optional<TensorType>& type = facts.outputs[port];
            const std::uint64_t bytes = type && type->isKnown() ? std::uint64_t(type->byteCount()) : 0;
            outputs.push_back({bytes, {facts.id, std::int32_t(port)}});
        }
    std::sort(outputs.begin(), outputs.end());
    std::set<PortRef> kept;
    std::uint64_t sum = 0;
    for (const auto& [bytes, output] : outputs) {
        if (bytes > kKeptBytes - sum) break;
        sum += bytes;
        kept.insert(output);
    }
    return kept;
}

/// The outputs without consumers. Keeping them does not change the other steps of a measured run.
std::set<PortRef> resultsOf(const Graph& graph, const Analysis& analysis) {
    std::set<PortRef> kept;
    for (const NodeFacts& facts : analysis.nodes) {
        if (!facts.op || !graph.outgoing(facts.id).empty()) continue;
        for (std::size_t port = 0; port < facts.outputs.size(); ++port) {
            const std::optional<TensorType>& type = facts.outputs[port];
            const bool fits = type && type->isKnown() && std::uint64_t(type->byteCount()) <= kKeptBytes;
            if (fits && !facts.op->outputAt(int(port)).optional) kept.insert({facts.id, std::int32_t(port)});
        }
    }
    return kept;
}

std::shared_ptr<const Plan> compileFor(const RunRequest& request, const Graph& graph,
                                       const Analysis& analysis, bool keeps) {
    CompileOptions options;
    options.revision = request.revision;
    options.policy = graph.info().policy;
    options.keep = keeps ? outputsToKeep(analysis) : resultsOf(graph, analysis);
    options.fuse = !keeps && !request.timesEachOp; // each op of an inspected tensor needs its own output
    options.fuseOnCpu = true;
    return compile(graph, analysis, request.devices, request.files, options);
}

/// The graph without the nodes that write files: a second run must not write them again.
Graph withoutWriters(const Graph& graph) {
    DeltaBuilder builder(graph, "Compute tensors again");
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (op && op->role == OpRole::sink && op->attribute("path")) builder.removeNode(node.id);
    }
    return builder.graph();
}

} // namespace

PreparedRun prepareRun(const RunRequest& request) noexcept {
    PreparedRun out;
    try {
        const auto analysisOf = [&](const Graph& graph) {
            return analyze(graph, request.devices, graph.info().policy, request.files.get());
        };
        out.analysis = analysisOf(request.graph);
        out.lean = compileFor(request, request.graph, out.analysis, false);
        if (request.keepsTensors) {
            out.plan = compileFor(request, request.graph, out.analysis, true);
        } else {
            const Graph graph = withoutWriters(request.graph);
            const bool writes = graph.nodes().size() != request.graph.nodes().size();
            out.again = compileFor(request, graph, writes ? analysisOf(graph) : out.analysis, true);
            out.plan = out.lean;
            std::uint64_t bytes = 0;
            for (const NodeFacts& facts : out.analysis.nodes) {
                const PortRef output{facts.id, 0};
                const std::optional<TensorType>& type = out.analysis.typeOf(output);
                if (facts.disabled || !type || !isUpdated(request.graph, output)) continue;
                out.updated.push_back(output);
                bytes += std::uint64_t(type->byteCount());
            }
            out.copiesUpdated = bytes <= kKeptBytes;
        }
        out.inputs = inputFiles(*out.plan);
    } catch (const std::exception& error) {
        out.plan = nullptr;
        out.error = error.what();
    }
    return out;
}

} // namespace twb
