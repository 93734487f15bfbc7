#include "placement/tensor_copies.h"

#include "ops/op_table.h"

namespace twb {

bool TensorCopies::isCopy(NodeId id) const {
    const Node* node = m_graph.find(id);
    return node && node->op == "To" && !node->disabled && !node->attributes.has("dtype") &&
           m_graph.sourceOf({id, 0});
}

const std::vector<NodeId>& TensorCopies::copiesOf(PortRef tensor) {
    const auto [at, isNew] = m_copies.try_emplace(tensor);
    if (isNew)
        for (const Edge& edge : m_graph.outgoing(tensor.node))
            if (edge.from == tensor && edge.to.port == 0 && isCopy(edge.to.node))
                at->second.push_back(edge.to.node);
    return at->second;
}

void TensorCopies::add(PortRef tensor, NodeId to) {
    if (const auto known = m_copies.find(tensor); known != m_copies.end()) known->second.push_back(to);
}

std::optional<PortRef> TensorCopies::on(PortRef tensor, Device device, NodeId reader) {
    return find(tensor, reader, [&](Device other) { return other == device; });
}

PortRef TensorCopies::nearest(PortRef tensor, Device device, NodeId reader) {
    if (m_deviceOf(tensor.node).sharesRankWith(device)) return tensor;
    return find(tensor, reader, [&](Device other) { return other.sharesRankWith(device); }).value_or(tensor);
}

std::optional<PortRef> TensorCopies::find(PortRef tensor, NodeId reader,
                                          const std::function<bool(Device)>& isWanted) {
    constexpr int kFarthest = 64; // consecutive To nodes; those on a cycle have no origin
    const Body* here = m_bodies.around(reader);
    // The initial value of a state is read before the body runs.
    const Node* node = m_graph.find(reader);
    const Op* op = node ? findOp(node->op) : nullptr;
    if (here && op && op->role == OpRole::state) here = m_bodies.around(*here);
    const auto isThere = [&](NodeId id) {
        // A disabled node has no device of its own: the tensor that it passes on may be on another device.
        const Node* node = m_graph.find(id);
        return id != reader && node && !node->disabled && isWanted(m_deviceOf(id)) &&
               m_bodies.sees(here, m_bodies.around(id));
    };
    for (int steps = 0; steps < kFarthest; ++steps) {
        if (isThere(tensor.node)) return tensor;
        for (const NodeId copy : copiesOf(tensor))
            if (isCopy(copy) && m_graph.sourceOf({copy, 0}) == tensor && isThere(copy))
                return PortRef{copy, 0};
        if (!isCopy(tensor.node)) return std::nullopt;
        tensor = *m_graph.sourceOf({tensor.node, 0});
    }
    return std::nullopt;
}

} // namespace twb
