#include "graph/delta.h"
#include "placement/diagnostic_order.h"
#include "placement/implicit_copies.h"
#include "placement/lints.h"
#include "placement/mismatch_roots.h"
#include "placement/node_rules.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace twb {
namespace {

bool counts(const Change<Node>& change) {
    if (!change.before || !change.after) return true;
    // The position does not matter to the rules; everything else may. A folded parameter moves with its node.
    Node alike = *change.after;
    alike.position = change.before->position;
    return alike != *change.before;
}

bool counts(const Change<Lane>& change) {
    return !change.before || !change.after || change.before->device != change.after->device;
}

bool counts(const Change<Frame>& change) {
    if (!change.before || !change.after) return true;
    Frame alike = *change.after;
    alike.title = change.before->title;
    alike.color = change.before->color;
    alike.collapsed = change.before->collapsed;
    return alike != *change.before;
}

template <class T> bool anyCounts(const std::vector<Change<T>>& changes) {
    return std::any_of(changes.begin(), changes.end(), [](const auto& change) { return counts(change); });
}

bool changesPolicy(const Delta& delta) {
    return delta.info && delta.info->before && delta.info->after &&
           delta.info->before->policy != delta.info->after->policy;
}

/// One change of a plain graph, in three growing sets of nodes: nodes to check again, because an input of
/// their facts changed; nodes whose facts changed; and nodes whose diagnostics may change, because they
/// mention a price or a name of a changed node.
class Revalidation {
public:
    Revalidation(Analysis& analysis, const Graph& graph, const DeviceMap& devices, const TensorFiles* files)
        : m_out(analysis), m_graph(graph), m_devices(devices), m_bodies(graph),
          m_rules(graph, m_bodies, devices, files, analysis), m_most(64 + graph.nodes().size() / 4) {}

    /// False if so many nodes are affected that a complete analysis is as fast; `analysis` is then invalid.
    bool run(const Delta& delta);
    /// After the change.
    Revised revised() const { return {false, {m_said.begin(), m_said.end()}}; }

private:
    NodeFacts& factsOf(NodeId id) { return m_out.nodes[m_out.index.at(id)]; }
    void take(const Delta& delta);
    void addFacts(NodeId id);
    void removeFacts(NodeId id);
    bool rank(std::vector<Edge> edges);
    bool checkAgain();
    bool reconsider(NodeFacts& facts);
    bool widen(bool hasMismatches);
    bool followTransfers();
    bool followBatches();
    bool followOrigins();
    template <class Leads, class Visit>
    bool follow(std::size_t farthest, const Leads& leads, const Visit& visit);
    void say(std::vector<Diagnostic> before);

    Analysis& m_out;
    const Graph& m_graph;
    const DeviceMap& m_devices;
    const Bodies m_bodies;
    NodeRules m_rules;
    const std::size_t m_most;               ///< limit of affected nodes
    std::unordered_set<NodeId> m_touched;   ///< nodes that the change itself contains
    std::unordered_set<NodeId> m_checked;   ///< nodes checked again
    std::unordered_set<NodeId> m_changed;   ///< their facts changed, or they were touched
    std::unordered_set<NodeId> m_newValues; ///< their known host values are void
    std::unordered_set<NodeId> m_said;      ///< nodes with new diagnostics
    bool m_ranksMoved = false;
};

bool Revalidation::run(const Delta& delta) {
    std::vector<Diagnostic> before = std::exchange(m_out.diagnostics, {});
    take(delta);
    std::vector<Edge> edges = delta.edgesAdded;
    for (const NodeId id : m_touched)
        if (factsOf(id).rank == 0) {
            factsOf(id).rank = 1;
            const auto& inputs = m_graph.inputs(id);
            for (std::size_t port = 0; port < inputs.size(); ++port)
                if (inputs[port]) edges.push_back({*inputs[port], {id, static_cast<std::int32_t>(port)}});
        }
    if (!rank(std::move(edges)) || !checkAgain()) return false;
    m_said = m_checked;
    const bool hasMismatches = std::any_of(before.begin(), before.end(),
                                           [](const Diagnostic& d) { return d.code == "device-mismatch"; });
    if (!widen(hasMismatches) || !followTransfers() || !followBatches() ||
        (hasMismatches && !followOrigins()))
        return false;
    say(std::move(before));
    return true;
}

void Revalidation::take(const Delta& delta) {
    for (const Change<Node>& change : delta.nodes) {
        if (!counts(change)) continue;
        if (!change.after) {
            removeFacts(change.before->id);
            continue;
        }
        if (!change.before) addFacts(change.after->id);
        m_touched.insert(change.after->id);
    }
    for (const auto* edges : {&delta.edgesRemoved, &delta.edgesAdded})
        for (const Edge& edge : *edges)
            for (const NodeId end : {edge.from.node, edge.to.node})
                if (m_out.index.contains(end)) m_touched.insert(end);
}

void Revalidation::addFacts(NodeId id) {
    m_out.index.emplace(id, static_cast<std::uint32_t>(m_out.nodes.size()));
    m_out.nodes.emplace_back().id = id;
}

void Revalidation::removeFacts(NodeId id) {
    const auto at = m_out.index.find(id);
    NodeFacts& facts = m_out.nodes[at->second];
    if (&facts != &m_out.nodes.back()) {
        facts = std::move(m_out.nodes.back());
        m_out.index[facts.id] = at->second;
    }
    m_out.nodes.pop_back();
    m_out.index.erase(at);
}

/// Raises the ranks of the targets of these edges, and of their descendants, above those of their inputs. The
/// bound ends it on a cycle.
bool Revalidation::rank(std::vector<Edge> edges) {
    for (std::size_t raised = 0; !edges.empty();) {
        const Edge edge = edges.back();
        edges.pop_back();
        const std::uint64_t above = factsOf(edge.from.node).rank;
        NodeFacts& facts = factsOf(edge.to.node);
        if (facts.rank > above) continue;
        if (++raised > m_most) return false;
        m_ranksMoved = m_ranksMoved || facts.noted;
        facts.rank = above + 1;
        const auto& outgoing = m_graph.outgoing(facts.id);
        edges.insert(edges.end(), outgoing.begin(), outgoing.end());
    }
    return true;
}

bool Revalidation::checkAgain() {
    std::set<std::pair<std::uint64_t, NodeId>> open;
    for (const NodeId id : m_touched) open.emplace(factsOf(id).rank, id);
    while (!open.empty()) {
        const NodeId id = open.extract(open.begin()).value().second;
        m_checked.insert(id);
        if (m_checked.size() > m_most) return false;
        if (!reconsider(factsOf(id))) continue;
        for (const Edge& edge : m_graph.outgoing(id)) open.emplace(factsOf(edge.to.node).rank, edge.to.node);
    }
    return true;
}

/// Whether its consumers must be checked again as well.
bool Revalidation::reconsider(NodeFacts& facts) {
    NodeFacts before = std::exchange(facts, {});
    facts.id = before.id;
    facts.rank = before.rank;
    m_rules.check(facts, *m_graph.find(facts.id), *m_graph.links().find(facts.id));

    const bool sameRecord = facts.op == before.op && facts.attributes == before.attributes;
    const bool sameTypes = facts.outputs == before.outputs;
    const bool sameValues =
        sameRecord && sameTypes && facts.inputs == before.inputs &&
        std::none_of(facts.inputs.begin(), facts.inputs.end(), [this](const std::optional<PortRef>& from) {
            return from && m_newValues.contains(from->node);
        });
    if (sameValues) {
        facts.value = std::move(before.value);
        facts.asked = before.asked;
    } else if (before.asked || !sameRecord || !sameTypes) {
        m_newValues.insert(facts.id);
    }
    const bool looksDifferent = !sameTypes || facts.device != before.device;
    if (looksDifferent || m_touched.contains(facts.id)) m_changed.insert(facts.id);
    return looksDifferent || m_newValues.contains(facts.id);
}

/// The nodes whose diagnostics mention the change or its price: its neighbours; their neighbours if one of
/// the two is a To, since the lints look through it; and nodes with diagnostics up to four edges away. The
/// price of moving a tensor's source includes the copies of all operands of its consumers, and a fix reads an
/// existing copy.
bool Revalidation::widen(bool hasMismatches) {
    const auto isTransfer = [](const NodeFacts& facts) {
        return facts.op && facts.op->role == OpRole::transfer;
    };
    std::size_t looked = 0;
    const auto neighbours = [&](NodeId id, const auto& visit) {
        for (const auto& from : m_graph.inputs(id))
            if (from) visit(factsOf(from->node));
        const auto& outgoing = m_graph.outgoing(id);
        for (const Edge& edge : outgoing) visit(factsOf(edge.to.node));
        looked += outgoing.size() + 1;
    };
    std::unordered_set<NodeId> seen = m_changed;
    std::vector<NodeId> circle(m_changed.begin(), m_changed.end());
    for (int distance = 1; distance <= (hasMismatches ? 4 : 2); ++distance) {
        std::vector<NodeId> next;
        for (const NodeId id : circle) {
            const NodeFacts& near = factsOf(id);
            neighbours(id, [&](const NodeFacts& far) {
                const bool isSeenThrough = distance == 2 && (isTransfer(near) || isTransfer(far));
                if (distance == 1 || isSeenThrough || far.noted) m_said.insert(far.id);
                if (seen.insert(far.id).second) next.push_back(far.id);
            });
            if (m_said.size() > m_most || looked > 4 * m_most) return false;
        }
        circle = std::move(next);
    }
    return true;
}

/// Follows a chain of To nodes of any length back to the tensor's origin.
bool Revalidation::followTransfers() {
    return follow(
        m_graph.nodes().size(),
        [](const NodeFacts& facts, std::int32_t) { return facts.op && facts.op->role == OpRole::transfer; },
        [this](const NodeFacts& facts) { m_said.insert(facts.id); });
}

/// A copy waits for a batch from which ops on the cpu compute its tensor.
bool Revalidation::followBatches() {
    return follow(
        Lints::kFarthestBatches,
        [](const NodeFacts& facts, std::int32_t) {
            return facts.op && (facts.device.isCpu() || facts.op->role == OpRole::transfer);
        },
        [this](const NodeFacts& facts) {
            if (facts.op->role == OpRole::transfer) m_said.insert(facts.id);
        });
}

/// A mismatch names the node that determined a tensor's device: back through the first inputs of compute
/// nodes.
bool Revalidation::followOrigins() {
    return follow(
        DeviceRule::kFarthestOrigin,
        [](const NodeFacts& facts, std::int32_t port) {
            return port == 0 && facts.op && facts.op->role == OpRole::compute;
        },
        [this](const NodeFacts& facts) {
            for (const Edge& edge : m_graph.outgoing(facts.id))
                if (factsOf(edge.to.node).noted) m_said.insert(edge.to.node);
        });
}

/// Visits the consumers of a changed node's outputs, and so on, while `leads(consumer, port)` allows it, over
/// at most `farthest` edges.
template <class Leads, class Visit>
bool Revalidation::follow(std::size_t farthest, const Leads& leads, const Visit& visit) {
    std::unordered_set<NodeId> seen;
    std::vector<NodeId> level(m_changed.begin(), m_changed.end());
    for (std::size_t far = 0; far < farthest && !level.empty(); ++far) {
        std::vector<NodeId> next;
        for (const NodeId id : level)
            for (const Edge& edge : m_graph.outgoing(id)) {
                const NodeFacts& reader = factsOf(edge.to.node);
                if (!leads(reader, edge.to.port) || !seen.insert(reader.id).second) continue;
                visit(reader);
                next.push_back(reader.id);
            }
        level = std::move(next);
        if (seen.size() > m_most) return false;
    }
    return m_said.size() <= m_most;
}

/// Replaces all diagnostics of the nodes in the largest set.
void Revalidation::say(std::vector<Diagnostic> before) {
    for (const NodeId id : m_said) {
        if (m_checked.contains(id)) continue;
        NodeFacts same; // the facts are unchanged; the diagnostics may not be
        same.id = id;
        m_rules.check(same, *m_graph.find(id), *m_graph.links().find(id));
    }
    std::unordered_set<NodeId> sources;
    if (!m_out.implicitCopies.empty() || m_out.policy.kind() != Policy::Kind::strict) {
        sources = m_said;
        for (const NodeId id : m_said)
            for (const auto& from : factsOf(id).inputs)
                if (from) sources.insert(from->node);
        std::erase_if(m_out.implicitCopies, [&](const ImplicitCopy& copy) {
            return sources.contains(copy.from.node) || !m_out.index.contains(copy.from.node);
        });
        for (const NodeId id : sources) addImplicitCopies(m_graph, m_devices, id, m_out);
    }
    const DeviceRule rule(m_graph, m_devices, m_out);
    for (Diagnostic& d : m_out.diagnostics)
        if (d.code == "device-mismatch") rule.addFixes(d);
    std::erase_if(m_out.smallCopies, [&](const SmallCopy& copy) {
        return m_said.contains(copy.to) || !m_out.index.contains(copy.to);
    });
    Lints lints(m_graph, m_devices, m_out);
    for (const NodeId id : m_said) lints.lookAt(factsOf(id));
    lints.sumUp();

    std::erase_if(before, [&](const Diagnostic& d) {
        return d.code == "small-copies" ||
               (d.node != NodeId::none && (m_said.contains(d.node) || !m_out.index.contains(d.node))) ||
               (d.code == "implicit-transfer" && sources.contains(d.edge->from.node));
    });
    for (const NodeId id : m_said) factsOf(id).noted = false;
    const std::size_t kept = before.size();
    before.insert(before.end(), std::make_move_iterator(m_out.diagnostics.begin()),
                  std::make_move_iterator(m_out.diagnostics.end()));
    m_out.diagnostics = std::move(before);
    findMismatchRoots(m_graph, m_out);
    putInOrder(m_out, m_ranksMoved ? 0 : kept);
}

} // namespace

std::optional<Revised> reanalyze(Analysis& analysis, const Graph& graph, const Delta& delta,
                                 const DeviceMap& devices, const TensorFiles* files) {
    const bool around = changesPolicy(delta) || anyCounts(delta.lanes) || anyCounts(delta.frames);
    if (!around && delta.edgesAdded.empty() && delta.edgesRemoved.empty() && !anyCounts(delta.nodes))
        return std::nullopt;
    const bool isPlain = analysis.isPlain && !around &&
                         std::none_of(delta.nodes.begin(), delta.nodes.end(), [](const Change<Node>& change) {
                             return change.after && change.after->disabled;
                         });
    if (isPlain) {
        Revalidation revalidation(analysis, graph, devices, files);
        if (revalidation.run(delta)) return revalidation.revised();
    }
    const Policy policy = changesPolicy(delta) ? graph.info().policy : analysis.policy;
    analysis = analyze(graph, devices, policy, files);
    return Revised{true, {}};
}

} // namespace twb
