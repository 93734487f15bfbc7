#include "placement/mismatch_roots.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace twb {
namespace {

constexpr std::size_t kMostAncestors = 256; ///< visited per mismatch

class Roots {
public:
    Roots(const Graph& graph, Analysis& analysis) : m_graph(graph), m_analysis(analysis) {}

    void run();

private:
    /// The line, op and operand of a mismatch, and the line of the culprit.
    using Occurrence = std::tuple<SourceLine, std::string, int, Device, Device, std::optional<SourceLine>>;

    std::vector<PortRef> culprits(const Diagnostic& d) const;
    NodeId rootOf(PortRef culprit) const;

    const Graph& m_graph;
    Analysis& m_analysis;
    std::map<PortRef, NodeId> m_roots; ///< by culprit
    std::map<Occurrence, NodeId> m_occurrences;
};

std::vector<PortRef> Roots::culprits(const Diagnostic& d) const {
    const NodeFacts& facts = *m_analysis.find(d.node);
    std::vector<PortRef> out;
    for (const auto& from : facts.inputs) {
        const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
        if (source && source->device.isCpu()) out.push_back(*from);
    }
    const PortRef wrong = m_analysis.sourceOf(d.edge->to).value_or(d.edge->from);
    if (out.empty() || std::find(out.begin(), out.end(), wrong) != out.end()) return {wrong};
    return out;
}

/// Follows a tensor back on its device; none if no culprit is among its ancestors.
NodeId Roots::rootOf(PortRef culprit) const {
    std::vector<PortRef> open{culprit};
    std::set<PortRef> seen{culprit};
    for (std::size_t i = 0; i < open.size() && i < kMostAncestors; ++i) {
        if (const auto root = m_roots.find(open[i]); root != m_roots.end()) return root->second;
        const NodeFacts* facts = m_analysis.find(open[i].node);
        if (!facts || !facts->op || facts->op->role == OpRole::transfer) continue;
        for (const auto& from : facts->inputs) {
            const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
            if (source && source->device == facts->device && seen.insert(*from).second) open.push_back(*from);
        }
    }
    return NodeId::none;
}

void Roots::run() {
    std::vector<Diagnostic*> mismatches;
    for (Diagnostic& d : m_analysis.diagnostics) {
        if (d.code != "device-mismatch") continue;
        d.root = NodeId::none;
        const Node* node = m_graph.find(d.node);
        if (node && node->source && d.edge && m_analysis.find(d.node)) mismatches.push_back(&d);
    }
    // Ids are in the order of the program.
    std::stable_sort(mismatches.begin(), mismatches.end(), [](const Diagnostic* a, const Diagnostic* b) {
        return std::pair(a->node, a->port) < std::pair(b->node, b->port);
    });
    std::map<NodeId, NodeId> rootOfNode;
    for (Diagnostic* d : mismatches) {
        const Node& node = *m_graph.find(d->node);
        const std::vector<PortRef> blamed = culprits(*d);
        const PortRef wrong = m_analysis.sourceOf(d->edge->to).value_or(d->edge->from);
        const Node* source = m_graph.find(wrong.node);
        const auto known = rootOfNode.find(d->node);
        NodeId root = known == rootOfNode.end() ? NodeId::none : known->second;
        if (root == NodeId::none)
            for (const PortRef culprit : blamed)
                if (root = rootOf(culprit); root != NodeId::none) break;
        const Occurrence occurrence{*node.source,
                                    node.op,
                                    d->port,
                                    m_analysis.find(d->node)->device,
                                    source ? m_analysis.find(source->id)->device : Device(),
                                    source ? source->source : std::nullopt};
        const auto [at, fresh] = m_occurrences.try_emplace(occurrence, d->node);
        if (root == NodeId::none) root = at->second;
        if (known == rootOfNode.end()) rootOfNode[d->node] = root;
        for (const PortRef culprit : blamed) m_roots.try_emplace(culprit, root);
        // The first mismatch of a root stands for all.
        const bool isFirst = root == d->node && known == rootOfNode.end();
        d->root = isFirst ? NodeId::none : root;
    }
}

} // namespace

void findMismatchRoots(const Graph& graph, Analysis& analysis) { Roots(graph, analysis).run(); }

} // namespace twb
