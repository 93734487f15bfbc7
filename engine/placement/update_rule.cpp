#include "placement/update_rule.h"

#include "placement/device_rule.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace twb {
namespace {

/// The edges over which enabled ops write an output in place.
std::vector<Edge> updatesOf(const Graph& graph, PortRef output) {
    std::vector<Edge> out;
    for (const Edge& edge : graph.outgoing(output.node)) {
        if (edge.from != output) continue;
        const Node& reader = *graph.find(edge.to.node);
        const Op* op = reader.disabled ? nullptr : findOp(reader.op);
        if (op && updatesInput(*op, edge.to.port)) out.push_back(edge);
    }
    return out;
}

} // namespace

bool updatesInput(const Op& op, int port) noexcept {
    return std::ranges::find(op.updates, port) != op.updates.end();
}

bool isUpdated(const Graph& graph, PortRef output) { return !updatesOf(graph, output).empty(); }

bool isConstantSource(const Graph& graph, const NodeFacts& facts) {
    return facts.op && facts.op->role == OpRole::source && !isUpdated(graph, {facts.id, 0});
}

bool checkUpdates(const Graph& graph, const Bodies& bodies, const NodeFacts& facts, const Node& node,
                  Analysis& analysis) {
    const Op& op = *facts.op;
    const std::size_t before = analysis.diagnostics.size();
    const auto add = [&](int port, std::string sentence) -> Diagnostic& {
        return analysis.diagnostics.emplace_back(makeError("update", node.id, port, std::move(sentence)));
    };
    if (op.role == OpRole::source) {
        const std::vector<Edge> updates = updatesOf(graph, {node.id, 0});
        if (updates.size() > 1) {
            Diagnostic& d =
                add(-1, fmt::format("{} is updated by {} and by {}; a tensor can have one update per "
                                    "iteration",
                                    quoted(node), quoted(*graph.find(updates[0].to.node)),
                                    quoted(*graph.find(updates[1].to.node))));
            d.fixes.push_back(disconnectFix(graph, updates[1]));
        }
    }
    if (!op.updates.empty() && (bodies.around(node.id) || graph.runsOnce(node)))
        add(-1, fmt::format("{} is inside {}, but an update runs once per iteration; move it outside",
                            quoted(node),
                            bodies.around(node.id) ? "the body of a loop" : "a frame that runs once"));
    for (const int port : op.updates) {
        const auto p = static_cast<std::size_t>(port);
        if (p >= facts.inputs.size() || !facts.inputs[p]) continue;
        const Node& source = *graph.find(facts.inputs[p]->node);
        const Op* from = findOp(source.op);
        const bool isDirect = graph.sourceOf({node.id, port}) == facts.inputs[p] && !bodies.around(source.id);
        if (!from || (from->role == OpRole::source && isDirect)) continue;
        Diagnostic& d =
            add(port, fmt::format("{} updates its input {} in place, so it must read a source such as "
                                  "Parameter directly, but {} computes it",
                                  quoted(node), op.inputAt(port).name, quoted(source)));
        d.edge = Edge{*facts.inputs[p], {node.id, port}};
    }
    return analysis.diagnostics.size() == before;
}

} // namespace twb
