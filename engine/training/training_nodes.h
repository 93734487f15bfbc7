#pragma once

#include "graph/delta.h"
#include "graph/unique_names.h"

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twb {

/// Adds nodes to the frame of a training, and places them together.
class TrainingNodes {
public:
    /// Vertical distance of a group of nodes from those above.
    static constexpr double kBelow = 160;

    TrainingNodes(DeltaBuilder& builder, FrameId frame)
        : m_builder(builder), m_frame(frame), m_names(builder.graph()) {}

    /// `parameter`: the parameter that the node serves (Node::forward), if it serves one. An input may stay
    /// unconnected. Returns the node's first output.
    PortRef add(std::string op, const std::string& name, LaneId lane, Attributes attributes,
                std::span<const std::optional<PortRef>> inputs, NodeId parameter = NodeId::none);
    PortRef add(std::string op, const std::string& name, LaneId lane, Attributes attributes,
                std::initializer_list<std::optional<PortRef>> inputs, NodeId parameter = NodeId::none) {
        return add(std::move(op), name, lane, std::move(attributes), std::span(inputs.begin(), inputs.size()),
                   parameter);
    }
    /// Arranges the added nodes with their top left corner at `origin`.
    void place(Position origin);

private:
    DeltaBuilder& m_builder;
    const FrameId m_frame;
    UniqueNames m_names;
    std::vector<NodeId> m_added;
};

} // namespace twb
