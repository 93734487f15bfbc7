#pragma once

#include "widgets/canvas/node_shapes.h"

namespace twb {

/// The collapsed modules, and the ports of all shapes: those of a module's card belong to nodes within it.
class ModuleShapes {
public:
    explicit ModuleShapes(NodeShapes& nodes) : m_nodes(nodes) {}

    /// By the slot of the card.
    const std::unordered_map<std::uint32_t, ModuleShape>& all() const noexcept { return m_modules; }
    /// The module whose card is in this slot; null for other slots.
    const ModuleShape* at(std::uint32_t slot) const noexcept;
    /// The module whose card a shape is; null for other shapes.
    const ModuleShape* of(const NodeShape& shape) const noexcept;
    /// All nodes of the collapsed module whose card a shape is, else the shape's node.
    std::vector<NodeId> nodesOn(const NodeShape& shape) const;
    /// The card of a collapsed module; null if it is open, or inside another collapsed module.
    const NodeShape* cardOf(FrameId frame) const noexcept;
    /// The n-th port of a shape: the node's own, or the first of those of nodes in the module.
    PortRef portOf(const NodeShape& shape, PortSide side, int port) const noexcept;
    /// The centre of a node's port, which may be on a module's card.
    QPointF portAt(PortRef port, PortSide side) const noexcept;

    void clear();
    /// Counts repeated modules again at the next read(), after a change of more than places.
    void recount() { m_repeats.clear(); }
    /// Finds the nodes that are drawn as one card. Returns those that joined or left a module.
    std::vector<NodeId> read(const SceneSource& source);
    /// Puts each card at the top left corner of its module's content.
    void placeCards(const Graph& graph);

private:
    NodeShapes& m_nodes;
    std::unordered_map<std::uint32_t, ModuleShape> m_modules;
    std::unordered_map<FrameId, int> m_repeats; ///< known ones
};

} // namespace twb
