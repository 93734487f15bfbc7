#pragma once

#include "widgets/canvas/gestures/alignment_guides.h"
#include "widgets/canvas/gestures/gesture.h"
#include "widgets/wire_edits.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace twb {

/// Moves nodes, notes and dots, within their lanes and to other lanes, and thus nodes to other devices. Dots
/// on wires between moved nodes move too. Items of one lane stay together; items of several lanes move by the
/// same number of lanes. Moved items align with a nearby card, else with the grid; with Alt they move freely.
class MoveGesture final : public Gesture {
public:
    /// `grabbed`: the lane at the start of the drag; other lanes move relative to it.
    MoveGesture(GestureHost& host, const Pointer& start, const Selection& what, LaneId grabbed);
    /// Pulls a new dot out of a wire, before the dot with this `index`.
    MoveGesture(GestureHost& host, const Pointer& start, const Edge& wire, std::size_t index, const Dot& dot);
    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    Qt::CursorShape cursor() const override { return m_moving ? Qt::ClosedHandCursor : Qt::ArrowCursor; }
    bool scrollsAtRim() const override { return m_moving; }
    /// selected instead after a click without a drag
    void setOnClick(Selection selection) { m_onClick = std::move(selection); }

private:
    struct Item {
        NodeId node = NodeId::none;
        NoteId note = NoteId::none;
        std::optional<DotRef> dot{};
        LaneId lane = LaneId::none; ///< before
        Position at;                ///< before
        double least = 0;           ///< upper limit of its position
        LaneId newLane = LaneId::none;
        Position newAt;
    };
    void addDots(const std::set<DotRef>& chosen);
    void putDot();
    void settle(const Pointer& pointer);
    /// The position of the moved cards before alignment.
    QPointF lined(QPointF offset, LaneId lane, QPointF onGrid) const;
    void show();
    /// The lanes that receive nodes from other lanes.
    std::map<NodeId, LaneId> newLanes() const;
    /// The outlook for the current lanes; computed once per combination.
    void lookAhead();
    /// The wire into which the only moved node would be inserted.
    std::optional<Splice> spliceHere() const;
    /// The final position. On a collapsed lane the item keeps its height.
    static Position placeOf(const Item& item, const Graph& graph);
    /// The frame of a node at its new position: the frame into which it was dragged, or none if it was
    /// dragged out. A node that stays in its frame, or moves with all of it, keeps it.
    FrameId frameFor(const Node& node) const;
    /// Fills m_carried. Call it when the scene shows the items as dragged.
    void findCarried();
    /// The same for a module of which all nodes move; `node` is one of them.
    FrameId parentFor(FrameId module, NodeId node) const;
    FrameId frameBetween(FrameId home, QPointF from, QPointF to) const;

    QPointF m_start;
    QPointF m_startPixel;
    LaneId m_grabbed;
    std::vector<Item> m_items;
    MovedThings m_moved;             ///< the items
    std::optional<Edge> m_pulledOut; ///< the wire of the new dot
    std::set<DotRef> m_chosen;       ///< dots that were selected themselves
    std::optional<QRectF> m_bounds;  ///< original bounds of the cards, or of the dots if there are no cards
    /// The modules that move as a whole, but not with a module around them, and a node of each.
    std::optional<std::vector<std::pair<FrameId, NodeId>>> m_carried;
    std::vector<LaneId> m_seen; ///< by item: the lane in the current preview
    std::optional<Selection> m_onClick;
    bool m_moving = false;
};

/// The Delta of the arrow keys: moves nodes, notes and dots by `offset` within their lanes.
Delta nudge(const Graph& graph, const Selection& selected, QPointF offset);

} // namespace twb
