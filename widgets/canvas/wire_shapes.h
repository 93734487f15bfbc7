#pragma once

#include "widgets/canvas/scene_shapes.h"
#include "widgets/canvas/shape_bounds.h"
#include "widgets/canvas/slot_set.h"
#include "widgets/canvas/spatial_grid.h"
#include "widgets/canvas/wire_detours.h"
#include "widgets/canvas/wire_dots.h"
#include "widgets/canvas/wire_path.h"

#include <QVarLengthArray>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace twb {

class Scene;

/// The wires of a scene, in slots that stay the same while an edge exists, and their ways between cards.
/// Queried through a spatial grid.
class WireShapes {
public:
    explicit WireShapes(const Scene& scene) : m_scene(scene) {}

    /// By slot; some are free.
    const std::vector<WireShape>& shapes() const noexcept { return m_wires; }
    const WireShape& operator[](std::uint32_t slot) const noexcept { return m_wires[slot]; }
    const WireShape* find(const Edge& edge) const noexcept;
    /// The wire that feeds an input, or null.
    const WireShape* into(PortRef input) const noexcept;
    WirePath path(const WireShape& wire) const;
    /// Whether the folded parameter of a row has a mismatch.
    bool isMismatch(const NodeShape& row) const noexcept;
    /// Of all wires that are shown.
    QRectF bounds() const;
    /// Calls visit(slot) for all wires that touch `rect`, in any order.
    template <class Visit> void visit(const QRectF& rect, Visit&& visit) const {
        m_grid.query(rect, [&](std::uint32_t slot) {
            if (touches(m_wires[slot], rect)) visit(slot);
        });
    }
    /// Whether visit() would visit any.
    bool isAnyIn(const QRectF& rect) const;

    const WireDots& dots() const noexcept { return m_dots; }
    WireDots& dots() noexcept { return m_dots; }
    /// Null if there is none, or if it is hidden.
    const DotShape* dot(const DotRef& ref) const noexcept;
    /// Calls visit(ref, shape) for all visible dots within `rect`.
    template <class Visit> void visitDots(const QRectF& rect, Visit&& visit) const {
        if (m_dots.empty()) return;
        this->visit(rect, [&](std::uint32_t slot) {
            if (!m_wires[slot].showsDots) return;
            const std::vector<DotShape>& dots = m_dots.on(m_wires[slot].edge.to);
            for (std::size_t i = 0; i < dots.size(); ++i)
                if (!dots[i].isHidden && rect.contains(dots[i].at))
                    visit(DotRef{m_wires[slot].edge.to, i}, dots[i]);
        });
    }
    /// Whether the wire runs through its dots as drawn. Not if it ends beside an open module, since the dots
    /// lead to its real end.
    bool takesDots(const WireShape& wire) const noexcept;
    /// The place for a new dot on a wire: nearest to a point, or in the middle of its longest segment.
    DotPlace placeNear(const WireShape& wire, QPointF point) const;
    DotPlace placeAmid(const WireShape& wire) const;

    void reserve(std::size_t count);
    void clear();
    void add(const Edge& edge);
    /// Returns the slot that is free now; kNoSlot if there was no such wire.
    std::uint32_t remove(const Edge& edge);
    /// Lists wires to route anew: one by its slot or its input, all of a node.
    void list(std::uint32_t slot) { m_listed.add(slot); }
    void listInto(PortRef input);
    void listAround(NodeId node, const Graph& graph);
    /// Empties the list. `disturbed`: where cards came or left, which concerns all wires that have a card in
    /// their way.
    std::vector<std::uint32_t> takeListed(const std::vector<QRectF>& disturbed);
    /// Reads how the wire of an edge looks.
    void style(std::uint32_t slot, const Analysis& analysis);
    /// Finds the way of a wire.
    void route(std::uint32_t slot);

private:
    /// Unlike QRectF::intersects, also true for a straight line.
    static bool touches(const WireShape& wire, const QRectF& rect) noexcept {
        const QRectF& b = wire.bounds;
        return b.left() <= rect.right() && b.right() >= rect.left() && b.top() <= rect.bottom() &&
               b.bottom() >= rect.top();
    }
    void lift(std::uint32_t slot);
    QPointF endOf(PortRef port, PortSide side, std::int32_t stub) const noexcept;
    QVarLengthArray<WireLeg, 2> legsOf(const WireShape& wire) const;
    bool findDetour(std::uint32_t slot);

    const Scene& m_scene;
    std::vector<WireShape> m_wires;
    std::vector<std::uint32_t> m_free;
    std::unordered_map<PortRef, std::uint32_t, PortHash> m_slotInto; ///< by the input it feeds
    SpatialGrid m_grid;
    mutable ShapeBounds m_bounds;
    WireDetours m_detours;
    WireDots m_dots;
    SlotSet m_listed;
};

} // namespace twb
