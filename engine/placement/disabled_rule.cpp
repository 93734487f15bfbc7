#include "placement/disabled_rule.h"

#include "core/error.h"
#include "graph/delta.h"
#include "placement/device_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twb {
namespace {

Fix enableFix(const Graph& graph, NodeId node) {
    Fix fix;
    fix.kind = Fix::Kind::enableNode;
    fix.title = fmt::format("enable {}", labelOf(graph, node));
    fix.node = node;
    return fix;
}

/// Whether an input of the node may replace its output.
bool mayPass(const Op* op) { return !op || op->role == OpRole::compute || op->role == OpRole::transfer; }

} // namespace

Diagnostic& DisabledRule::add(Severity severity, NodeId node, NodeId disabled, std::string message) {
    Diagnostic& d = m_out.diagnostics.emplace_back(makeError("disabled", node, -1, std::move(message)));
    d.severity = severity;
    d.fixes.push_back(enableFix(m_graph, disabled));
    return d;
}

void DisabledRule::follow(std::vector<std::optional<PortRef>>& inputs) const {
    if (!m_any) return;
    for (auto& from : inputs) {
        const NodeFacts* source = from && from->port == 0 ? m_out.find(from->node) : nullptr;
        if (source && source->disabled && source->passes) from = source->passes;
    }
}

void DisabledRule::standAside(NodeFacts& facts, const std::optional<TensorType>& made) {
    m_any = true;
    facts.disabled = true;
    facts.attributes = {};
    std::fill(facts.outputs.begin(), facts.outputs.end(), std::nullopt);
    const auto fits = [&](const std::optional<PortRef>& from) {
        const NodeFacts* source = from ? m_out.find(from->node) : nullptr;
        if (!source || source == &facts) return false; // a node that reads itself passes nothing on
        if (m_bodies.around(source->id) != m_bodies.around(facts.id)) return false;
        return !made || m_out.typeOf(*from) == made;
    };
    const auto at = std::find_if(facts.inputs.begin(), facts.inputs.end(), fits);
    if (mayPass(facts.op) && at != facts.inputs.end()) {
        facts.passes = *at;
        if (!facts.outputs.empty()) facts.outputs[0] = m_out.typeOf(**at);
    }
    const std::string node = quoted(*m_graph.find(facts.id));
    const bool isRead = !m_graph.outgoing(facts.id).empty();
    std::string message = fmt::format("{} is disabled", node);
    if (isRead && facts.passes)
        message += fmt::format(": its consumers read {} instead", labelOf(m_graph, facts.passes->node));
    else if (isRead && made && !facts.inputs.empty())
        message +=
            fmt::format(": no input has the dtype and shape of its output, {}; its consumers do not run",
                        made->toString());
    else if (isRead)
        message += ": its consumers do not run";
    add(Severity::note, facts.id, facts.id, std::move(message));
}

void DisabledRule::checkReads(const NodeFacts& facts) {
    if (!m_any) return;
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        const auto& from = facts.inputs[port];
        const NodeFacts* source = from ? m_out.find(from->node) : nullptr;
        if (!source || !source->disabled) continue;
        Diagnostic& d = add(
            Severity::warning, facts.id, source->id,
            fmt::format("{} does not run: it needs {}, which is disabled and has no input with the dtype and "
                        "shape of its output; enable the disabled node",
                        quoted(*m_graph.find(facts.id)), labelOf(m_graph, source->id)));
        d.port = static_cast<int>(port);
        d.edge = Edge{*from, {facts.id, d.port}};
        return;
    }
}

Edge DisabledRule::drawn(const Edge& edge) const {
    const NodeFacts* reader = m_out.find(edge.to.node);
    const auto port = static_cast<std::size_t>(edge.to.port);
    // A fix may refer to an edge that does not exist yet; only existing edges are mapped.
    if (!reader || port >= reader->inputs.size() || reader->inputs[port] != edge.from) return edge;
    return {m_graph.sourceOf(edge.to).value_or(edge.from), edge.to};
}

void DisabledRule::nameEdges() {
    if (!m_any) return;
    for (Diagnostic& d : m_out.diagnostics) {
        if (d.edge) d.edge = drawn(*d.edge);
        for (Fix& fix : d.fixes)
            if (fix.edge.to.node != NodeId::none) fix.edge = drawn(fix.edge);
    }
    for (ImplicitCopy& copy : m_out.implicitCopies)
        for (Edge& edge : copy.edges) edge = drawn(edge);
}

Graph exportable(const Graph& graph, const Analysis& analysis, std::string_view format) {
    const bool any = std::any_of(analysis.nodes.begin(), analysis.nodes.end(),
                                 [](const NodeFacts& facts) { return facts.disabled; });
    if (!any) return graph;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.code == "disabled" && d.severity == Severity::warning)
            throw Error(ErrorCode::badGraph,
                        fmt::format("the graph cannot be exported to {}: {}, or delete both nodes", format,
                                    d.message));
    DeltaBuilder builder(graph, "");
    std::vector<NodeId> gone;
    for (const NodeFacts& facts : analysis.nodes) {
        if (facts.disabled) {
            gone.push_back(facts.id);
            continue;
        }
        for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
            const PortRef to{facts.id, static_cast<std::int32_t>(port)};
            const auto& from = facts.inputs[port];
            if (from && graph.sourceOf(to) != from) builder.connect({*from, to});
        }
    }
    for (const NodeId id : gone) builder.removeNode(id);
    Graph out = graph;
    out.apply(builder.take());
    return out;
}

std::vector<Edge> readersOf(const Graph& graph, const Analysis& analysis, NodeId node) {
    std::vector<Edge> out = graph.outgoing(node);
    std::set<NodeId> followed; // visited once, even with two edges or on a cycle
    for (std::size_t i = 0; i < out.size();) {
        const NodeFacts* reader = analysis.find(out[i].to.node);
        if (!reader || !reader->disabled) {
            ++i;
            continue;
        }
        const PortRef from = out[i].from;
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
        if (reader->passes != from || !followed.insert(reader->id).second) continue;
        for (const Edge& further : graph.outgoing(reader->id))
            if (further.from.port == 0) out.push_back({from, further.to});
    }
    return out;
}

} // namespace twb
