#include "runtime/update_order.h"

#include "placement/update_rule.h"

#include <algorithm>
#include <unordered_map>

namespace twb {
namespace {

/// A topological order of the nodes in which the readers of a tensor come before its update.
class Sorter {
public:
    Sorter(const Graph& graph, const Analysis& analysis, const Bodies& bodies,
           const std::vector<bool>& isPlanned)
        : m_graph(graph), m_analysis(analysis), m_bodies(bodies), m_place(analysis.nodes.size()),
          m_waitsFor(analysis.nodes.size()), m_next(analysis.nodes.size()),
          m_readersLeft(analysis.nodes.size()) {
        for (std::size_t i = 0; i < analysis.nodes.size(); ++i)
            if (isPlanned[i] && !bodies.around(analysis.nodes[i].id)) m_left.insert(i);
        findUpdates(isPlanned);
    }

    UpdateOrder sort(const std::vector<bool>& isPlanned) {
        UpdateOrder out;
        if (m_updates.empty()) {
            out.nodes.assign(m_left.begin(), m_left.end());
            return out;
        }
        connect(isPlanned);
        findPlaces();
        for (const std::size_t i : m_left)
            if (isReady(i)) m_ready.insert(keyOf(i));
        while (!m_left.empty()) {
            if (m_ready.empty() && !breakTie(out)) break; // a cycle, which is an error of the analysis
            const std::size_t i = m_ready.begin()->second;
            m_ready.erase(m_ready.begin());
            m_left.erase(i);
            out.nodes.push_back(i);
            for (const std::size_t next : m_next[i]) {
                --m_waitsFor[next];
                if (m_left.contains(next) && isReady(next)) m_ready.insert(keyOf(next));
            }
            for (const std::size_t update : m_updatesAfter[i]) {
                --m_readersLeft[update];
                if (m_left.contains(update) && isReady(update)) m_ready.insert(keyOf(update));
            }
        }
        return out;
    }

private:
    using Key = std::pair<std::size_t, std::size_t>; ///< the ready node with the smallest one comes next

    Key keyOf(std::size_t i) const { return {m_place[i], i}; }
    bool isReady(std::size_t i) const { return m_waitsFor[i] == 0 && m_readersLeft[i] == 0; }

    /// The index of the node outside all bodies that contains this one.
    std::size_t outermost(NodeId id) const {
        while (const Body* body = m_bodies.around(id)) id = body->owner;
        return m_analysis.index.at(id);
    }

    void findUpdates(const std::vector<bool>& isPlanned) {
        for (std::size_t i = 0; i < m_analysis.nodes.size(); ++i) {
            const NodeFacts& facts = m_analysis.nodes[i];
            if (!isPlanned[i] || !facts.op) continue;
            for (const int port : facts.op->updates) {
                const auto p = static_cast<std::size_t>(port);
                if (p >= facts.inputs.size() || !facts.inputs[p]) continue; // an optional state
                m_updates[*facts.inputs[p]] = i;
                m_isUpdate.insert(i);
            }
        }
    }

    /// Nodes have the order of the analysis, but those of a backward pass come just before their first
    /// reader: computed as early as possible, the mask of a Relu and copies of the activations would take
    /// memory during the whole forward pass.
    void findPlaces() {
        for (std::size_t i = m_place.size(); i-- > 0;) {
            m_place[i] = i;
            const NodeFacts& facts = m_analysis.nodes[i];
            const Node* node = m_graph.find(facts.id);
            const bool mayWait = facts.op && facts.op->role == OpRole::compute && !m_isUpdate.contains(i);
            if (!mayWait || node->forward == NodeId::none || m_next[i].empty()) continue;
            const auto placeOf = [&](std::size_t next) { return m_place[next]; };
            m_place[i] = m_place[*std::ranges::min_element(m_next[i], {}, placeOf)];
        }
    }

    void connect(const std::vector<bool>& isPlanned) {
        for (std::size_t i = 0; i < m_analysis.nodes.size(); ++i) {
            if (!isPlanned[i]) continue;
            const NodeFacts& facts = m_analysis.nodes[i];
            const std::size_t at = outermost(facts.id);
            std::vector<std::optional<PortRef>> sources = facts.inputs;
            if (facts.passes) sources.emplace_back(facts.passes);
            for (const auto& from : sources) {
                if (!from) continue;
                const std::size_t source = outermost(from->node);
                if (source != at && m_left.contains(source)) {
                    m_next[source].push_back(at);
                    ++m_waitsFor[at];
                }
                const auto update = m_updates.find(*from);
                if (update == m_updates.end() || update->second == at) continue;
                m_updatesAfter[at].push_back(update->second);
                ++m_readersLeft[update->second];
                m_readers[update->second].emplace_back(at, *from);
            }
        }
    }

    /// No node is ready: the first update whose inputs are there no longer waits for its readers.
    bool breakTie(UpdateOrder& out) {
        for (const std::size_t i : m_isUpdate) {
            if (!m_left.contains(i) || m_waitsFor[i] != 0) continue;
            const NodeId update = m_analysis.nodes[i].id;
            for (const auto& [reader, tensor] : m_readers[i]) {
                if (!m_left.contains(reader)) continue;
                out.readsCopy.insert({m_analysis.nodes[reader].id, tensor});
                auto& copies = out.copies[update];
                if (std::ranges::find(copies, tensor) == copies.end()) copies.push_back(tensor);
                std::erase(m_updatesAfter[reader], i);
            }
            m_readersLeft[i] = 0;
            m_ready.insert(keyOf(i));
            return true;
        }
        return false;
    }

    const Graph& m_graph;
    const Analysis& m_analysis;
    const Bodies& m_bodies;
    std::vector<std::size_t> m_place; ///< by node
    std::set<std::size_t> m_left;
    std::set<Key> m_ready;
    std::set<std::size_t> m_isUpdate;
    std::map<PortRef, std::size_t> m_updates; ///< by tensor: the node that updates it
    std::vector<std::size_t> m_waitsFor;      ///< by node: unordered inputs
    std::vector<std::vector<std::size_t>> m_next;
    std::vector<std::size_t> m_readersLeft;                                                  ///< by update
    std::unordered_map<std::size_t, std::vector<std::size_t>> m_updatesAfter;                ///< by reader
    std::unordered_map<std::size_t, std::vector<std::pair<std::size_t, PortRef>>> m_readers; ///< by update
};

} // namespace

UpdateOrder orderUpdates(const Graph& graph, const Analysis& analysis, const Bodies& bodies,
                         const std::vector<bool>& isPlanned) {
    return Sorter(graph, analysis, bodies, isPlanned).sort(isPlanned);
}

} // namespace twb
