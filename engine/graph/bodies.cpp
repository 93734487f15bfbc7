#include "graph/bodies.h"

#include "ops/op_table.h"

#include <algorithm>

namespace twb {

Bodies::Bodies(const Graph& graph) : m_graph(graph) {
    for (const Frame& frame : graph.frames()) {
        const Node* owner = graph.find(frame.owner);
        const Op* op = owner ? findOp(owner->op) : nullptr;
        if (!op || op->bodies.empty()) continue;
        const auto at = std::find(op->bodies.begin(), op->bodies.end(), frame.body);
        if (at == op->bodies.end()) continue;
        m_byFrame[frame.id] = m_bodies.size();
        m_bodies.push_back({frame.id, owner->id, static_cast<int>(at - op->bodies.begin())});
    }
    if (m_bodies.empty()) return;
    for (const Frame& frame : graph.frames()) {
        const Frame* at = &frame;
        while (at && !m_byFrame.contains(at->id)) at = graph.find(at->parent);
        if (at) m_byFrame[frame.id] = m_byFrame[at->id];
    }
}

const Body* Bodies::around(NodeId id) const noexcept {
    if (m_bodies.empty()) return nullptr;
    const Node* node = m_graph.find(id);
    const auto at = node ? m_byFrame.find(node->frame) : m_byFrame.end();
    return at == m_byFrame.end() ? nullptr : &m_bodies[at->second];
}

bool Bodies::sees(const Body* inner, const Body* outer) const noexcept {
    // A body around its own owner is an error of the graph; this loop must end nevertheless.
    for (std::size_t steps = 0; steps <= m_bodies.size(); ++steps) {
        if (inner == outer) return true;
        if (!inner) return false;
        inner = around(*inner);
    }
    return false;
}

const Body* Bodies::of(NodeId owner, int index) const noexcept {
    for (const Body& body : m_bodies)
        if (body.owner == owner && body.index == index) return &body;
    return nullptr;
}

int Bodies::bodyOfInput(const Op& owner, int port, int connected) noexcept {
    const int first = firstResult(owner);
    if (port < first) return owner.inputs[static_cast<std::size_t>(port)].name == "cond_out" ? 0 : -1;
    if (owner.bodies.size() < 2) return 0;
    return port - first < (connected - first) / 2 ? 0 : 1;
}

} // namespace twb
