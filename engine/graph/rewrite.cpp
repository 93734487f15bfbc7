#include "graph/rewrite.h"

#include "graph/delta.h"
#include "ops/op_table.h"

#include <algorithm>
#include <set>

namespace twb {

void Rewrite::change(Node after) {
    const NodeId id = after.id;
    m_changed.insert_or_assign(id, std::move(after));
}

NodeId Rewrite::add(Node node) {
    node.id = m_graph.newNodeId(m_added.size());
    m_added.push_back(std::move(node));
    return m_added.back().id;
}

void Rewrite::remove(NodeId id) { m_removed.insert(id); }

const Node& Rewrite::node(NodeId id) const {
    const auto at = m_changed.find(id);
    return at == m_changed.end() ? *m_graph.find(id) : at->second;
}

PortRef Rewrite::resolved(PortRef output) const {
    for (auto at = m_replaced.find(output); at != m_replaced.end(); at = m_replaced.find(output))
        output = at->second;
    return output;
}

std::optional<PortRef> Rewrite::sourceOf(PortRef input) const {
    const auto at = m_inputs.find(input);
    const std::optional<PortRef> from = at == m_inputs.end() ? m_graph.sourceOf(input) : at->second;
    return from ? std::optional(resolved(*from)) : std::nullopt;
}

bool Rewrite::empty() const noexcept {
    return m_changed.empty() && m_added.empty() && m_removed.empty() && m_inputs.empty() &&
           m_replaced.empty();
}

void Rewrite::applyTo(Graph& graph) const {
    Delta delta;
    for (const Node& node : m_graph.nodes()) {
        if (m_removed.contains(node.id)) {
            delta.nodes.push_back({node, std::nullopt});
        } else if (const auto at = m_changed.find(node.id); at != m_changed.end() && !(at->second == node)) {
            delta.nodes.push_back({node, at->second});
        }
    }
    for (const Node& node : m_added) delta.nodes.push_back({std::nullopt, node});

    std::set<PortRef> inputs; // those that may change
    for (const Links& links : m_graph.links())
        for (std::size_t port = 0; port < links.inputs.size(); ++port)
            if (links.inputs[port]) inputs.insert({links.id, static_cast<std::int32_t>(port)});
    for (const auto& [input, from] : m_inputs) inputs.insert(input);
    for (const PortRef input : inputs) {
        const std::optional<PortRef> before = m_graph.sourceOf(input);
        const std::optional<PortRef> after = m_removed.contains(input.node) ? std::nullopt : sourceOf(input);
        if (before == after) continue;
        if (before) delta.edgesRemoved.push_back({*before, input});
        if (after) delta.edgesAdded.push_back({*after, input});
        if (const Route* route = before ? m_graph.routes().find(input) : nullptr)
            delta.routes.push_back({*route, std::nullopt});
    }
    graph.apply(delta);
}

void removeUnread(Graph& after, const Graph& before) {
    std::vector<NodeId> open;
    for (const Node& node : after.nodes()) open.push_back(node.id);
    Delta delta;
    std::unordered_set<NodeId> gone;
    while (!open.empty()) {
        const Node& node = *after.find(open.back());
        open.pop_back();
        const Op* op = findOp(node.op);
        const bool wasRead = !before.find(node.id) || !before.outgoing(node.id).empty();
        const bool mayGo = op && node.op != "Input" && op->role != OpRole::sink &&
                           op->role != OpRole::control && op->role != OpRole::state &&
                           node.breakpoints.empty() && !node.disabled;
        const auto isGone = [&](const Edge& edge) { return gone.contains(edge.to.node); };
        if (!wasRead || !mayGo || gone.contains(node.id) ||
            !std::ranges::all_of(after.outgoing(node.id), isGone))
            continue;
        gone.insert(node.id);
        delta.nodes.push_back({node, std::nullopt});
        const auto& inputs = after.inputs(node.id);
        for (std::size_t port = 0; port < inputs.size(); ++port) {
            if (!inputs[port]) continue;
            const PortRef to{node.id, static_cast<std::int32_t>(port)};
            delta.edgesRemoved.push_back({*inputs[port], to});
            if (const Route* route = after.routes().find(to)) delta.routes.push_back({*route, std::nullopt});
            open.push_back(inputs[port]->node);
        }
    }
    after.apply(delta);
}

} // namespace twb
