#include "placement/topology.h"

#include <algorithm>

namespace twb {
namespace {

/// Tarjan's strongly connected components (SIAM J. Comput. 1972) with an explicit stack: a chain of a million
/// nodes would exhaust the thread's stack.
class Components {
public:
    explicit Components(const Topology& topology)
        : m_topology(topology), m_index(topology.nodes.size(), kUnseen), m_low(topology.nodes.size()),
          m_onStack(topology.nodes.size()) {}

    std::vector<std::vector<std::uint32_t>> withCycles(const std::vector<std::uint32_t>& among) {
        for (std::uint32_t node : among)
            if (m_index[node] == kUnseen) visit(node);
        return std::move(m_found);
    }

private:
    static constexpr std::uint32_t kUnseen = 0xffffffff;
    struct Visit {
        std::uint32_t node;
        std::size_t edge;
    };

    void enter(std::uint32_t node) {
        m_index[node] = m_low[node] = m_next++;
        m_stack.push_back(node);
        m_onStack[node] = true;
        m_visits.push_back({node, 0});
    }

    void visit(std::uint32_t root) {
        enter(root);
        while (!m_visits.empty()) {
            const std::uint32_t node = m_visits.back().node;
            const auto& outgoing = m_topology.links[node]->outgoing;
            const std::uint32_t owner = m_topology.ownerOf(node);
            if (m_visits.back().edge < outgoing.size() + (owner == Topology::kNobody ? 0 : 1)) {
                const std::size_t edge = m_visits.back().edge++;
                const std::uint32_t to =
                    edge < outgoing.size() ? m_topology.indexOf(outgoing[edge].to.node) : owner;
                if (m_index[to] == kUnseen)
                    enter(to);
                else if (m_onStack[to])
                    m_low[node] = std::min(m_low[node], m_index[to]);
                continue;
            }
            m_visits.pop_back();
            if (!m_visits.empty()) {
                const std::uint32_t parent = m_visits.back().node;
                m_low[parent] = std::min(m_low[parent], m_low[node]);
            }
            if (m_low[node] == m_index[node]) leave(node);
        }
    }

    void leave(std::uint32_t root) {
        std::vector<std::uint32_t> part;
        std::uint32_t node = kUnseen;
        do {
            node = m_stack.back();
            m_stack.pop_back();
            m_onStack[node] = false;
            part.push_back(node);
        } while (node != root);
        const auto& outgoing = m_topology.links[root]->outgoing;
        const bool loop = m_topology.ownerOf(root) == root ||
                          std::any_of(outgoing.begin(), outgoing.end(),
                                      [&](const Edge& e) { return e.to.node == m_topology.nodes[root]->id; });
        if (part.size() < 2 && !loop) return;
        std::sort(part.begin(), part.end());
        m_found.push_back(std::move(part));
    }

    const Topology& m_topology;
    std::vector<std::uint32_t> m_index;
    std::vector<std::uint32_t> m_low;
    std::vector<bool> m_onStack;
    std::vector<std::uint32_t> m_stack;
    std::vector<Visit> m_visits;
    std::vector<std::vector<std::uint32_t>> m_found;
    std::uint32_t m_next = 0;
};

} // namespace

Topology::Topology(const Graph& graph, const Bodies& bodies) {
    nodes.reserve(graph.nodes().size());
    links.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) nodes.push_back(&node);
    for (const Links& l : graph.links()) links.push_back(&l); // same ids, same order

    for (std::size_t i = 0; i < nodes.size() && !bodies.empty(); ++i) {
        const Body* body = bodies.around(nodes[i]->id);
        owners.push_back(body ? indexOf(body->owner) : kNobody);
    }
    std::vector<std::uint32_t> missing(nodes.size(), 0);
    for (const std::uint32_t owner : owners)
        if (owner != kNobody) ++missing[owner];
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const auto& from : links[i]->inputs) missing[i] += from ? 1U : 0U;
    order.reserve(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
        if (missing[i] == 0) order.push_back(i);
    const auto passed = [&](std::uint32_t to) {
        if (--missing[to] == 0) order.push_back(to);
    };
    for (std::size_t next = 0; next < order.size(); ++next) {
        const std::uint32_t node = order[next];
        for (const Edge& edge : links[node]->outgoing) passed(indexOf(edge.to.node));
        if (ownerOf(node) != kNobody) passed(ownerOf(node));
    }
    if (order.size() == nodes.size()) return;
    std::vector<std::uint32_t> rest;
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
        if (missing[i] > 0) rest.push_back(i);
    cycles = Components(*this).withCycles(rest);
}

std::uint32_t Topology::indexOf(NodeId id) const noexcept {
    // Ids are dense except for deleted ones, so the position is at or slightly before id - first id.
    const auto guess = static_cast<std::size_t>(value(id) - value(nodes.front()->id));
    if (guess < nodes.size() && nodes[guess]->id == id) return static_cast<std::uint32_t>(guess);
    const auto end = guess < nodes.size() ? nodes.begin() + static_cast<std::ptrdiff_t>(guess) : nodes.end();
    const auto at = std::lower_bound(nodes.begin(), end, id,
                                     [](const Node* node, NodeId wanted) { return node->id < wanted; });
    return static_cast<std::uint32_t>(at - nodes.begin());
}

} // namespace twb
