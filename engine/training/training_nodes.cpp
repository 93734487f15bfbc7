#include "training/training_nodes.h"

#include "graph/arrange.h"
#include "ops/op_table.h"

#include <utility>

namespace twb {

PortRef TrainingNodes::add(std::string op, const std::string& name, LaneId lane, Attributes attributes,
                           std::span<const std::optional<PortRef>> inputs, NodeId parameter) {
    Node node;
    node.op = std::move(op);
    node.name = m_names.take(name);
    node.lane = lane;
    node.frame = m_frame;
    node.attributes = std::move(attributes);
    node.folded = findOp(node.op)->role == OpRole::source;
    node.forward = parameter;
    const NodeId id = m_builder.addNode(std::move(node));
    m_added.push_back(id);
    for (std::size_t port = 0; port < inputs.size(); ++port)
        if (inputs[port]) m_builder.connect({*inputs[port], {id, static_cast<std::int32_t>(port)}});
    return {id, 0};
}

void TrainingNodes::place(Position origin) {
    for (const Change<Node>& change : arrange(m_builder.graph(), m_added, {origin}).delta.nodes)
        m_builder.change(*change.after);
}

} // namespace twb
