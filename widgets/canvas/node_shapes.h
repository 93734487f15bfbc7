#pragma once

#include "widgets/canvas/scene_shapes.h"
#include "widgets/canvas/shape_bounds.h"
#include "widgets/canvas/slot_set.h"
#include "widgets/canvas/spatial_grid.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace twb {

/// The shapes of all nodes, in slots that stay the same while a node exists, and the work that is left to do
/// on them. Queried through a spatial grid.
class NodeShapes {
public:
    /// By slot; free slots have no id.
    const std::vector<NodeShape>& shapes() const noexcept { return m_shapes; }
    const NodeShape& operator[](std::uint32_t slot) const noexcept { return m_shapes[slot]; }
    NodeShape& operator[](std::uint32_t slot) noexcept { return m_shapes[slot]; }
    /// The number of nodes.
    std::size_t count() const noexcept { return m_slotOf.size(); }
    /// kNoSlot if there is no such node.
    std::uint32_t slotOf(NodeId id) const noexcept;
    const NodeShape* find(NodeId id) const noexcept;
    /// The shape of a node: its own, or the card of the collapsed module that contains it.
    const NodeShape* drawn(NodeId id) const noexcept;
    std::uint32_t drawnSlot(std::uint32_t slot) const noexcept {
        return m_shapes[slot].module == kNoSlot ? slot : m_shapes[slot].module;
    }
    /// Whether a slot is a row on a card, be it shown or not.
    bool isRow(std::uint32_t slot) const noexcept {
        return m_shapes[slot].module == kNoSlot && m_shapes[slot].card != kNoSlot;
    }

    /// Calls visit(slot) for all nodes that touch `rect`, in any order.
    template <class Visit> void visit(const QRectF& rect, Visit&& visit) const {
        m_grid.query(rect, [&](std::uint32_t slot) {
            if (m_shapes[slot].rect.intersects(rect)) visit(slot);
        });
    }
    /// Whether test(slot) is true for any of them; stops at the first.
    template <class Test> bool any(const QRectF& rect, Test&& test) const {
        return m_grid.any(
            rect, [&](std::uint32_t slot) { return m_shapes[slot].rect.intersects(rect) && test(slot); });
    }
    /// Of all shapes that have an extent; those on the strips of collapsed lanes have one, too.
    QRectF bounds() const;

    void reserve(std::size_t count);
    std::uint32_t add(const Node& node);
    void remove(std::uint32_t slot);
    /// Takes a shape out of the grid; call before its rect changes.
    void lift(std::uint32_t slot);
    /// Inserts it into the grid at its rect; hidden shapes are not in the grid.
    void put(std::uint32_t slot);
    /// Forces the node's appearance to be recomputed.
    void measure(std::uint32_t slot);

    SlotSet asked;    ///< their appearance may have changed
    SlotSet touched;  ///< their appearance or place did change
    SlotSet reworded; ///< their texts must be laid out again
    /// The rectangles that cards have left or come to since the last call. A card that is put where it was
    /// lifted from disturbs nothing.
    std::vector<QRectF> takeDisturbed() { return std::exchange(m_disturbed, {}); }
    bool isDisturbed() const noexcept { return !m_disturbed.empty(); }
    /// Counts the place of a card as disturbed though the card stays there.
    void disturb(std::uint32_t slot) { m_disturbed.push_back(m_shapes[slot].rect); }

private:
    std::vector<NodeShape> m_shapes;
    std::vector<std::uint32_t> m_free;
    std::unordered_map<NodeId, std::uint32_t> m_slotOf;
    SpatialGrid m_grid;
    mutable ShapeBounds m_bounds;
    std::vector<QRectF> m_disturbed;
};

} // namespace twb
