#pragma once

#include "widgets/canvas/gestures/alignment_guides.h"
#include "widgets/canvas/gestures/gesture.h"
#include "widgets/wire_edits.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace twb {

/// Moves nodes, notes and dots, within their lanes and to others: a node runs on the device of the lane it
/// stands on. Dots on wires between moved nodes go along. What stands together in one lane stays together;
/// things from several lanes go up or down by the same number of lanes. What is moved lands where it lines up
/// with a card near by, else on the grid, and with Alt where the hand leaves it.
class MoveGesture final : public Gesture {
public:
    /// `grabbed` is the lane that the hand starts from, by which the others are led.
    MoveGesture(GestureHost& host, const Pointer& start, const Selection& what, LaneId grabbed);
    /// Pulls a new dot out of a wire, which comes in front of the one that has its `index` now.
    MoveGesture(GestureHost& host, const Pointer& start, const Edge& wire, std::size_t index, const Dot& dot);
    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    Qt::CursorShape cursor() const override { return m_moving ? Qt::ClosedHandCursor : Qt::ArrowCursor; }
    bool scrollsAtRim() const override { return m_moving; }
    /// Selected instead when the button is let go without a drag.
    void setOnClick(Selection selection) { m_onClick = std::move(selection); }

private:
    struct Item {
        NodeId node = NodeId::none;
        NoteId note = NoteId::none;
        std::optional<DotRef> dot{};
        LaneId lane = LaneId::none; ///< before
        Position at;                ///< before
        double least = 0;           ///< the highest it may stand
        LaneId newLane = LaneId::none;
        Position newAt;
    };
    void addDots(const std::set<DotRef>& chosen);
    void putDot();
    void settle(const Pointer& pointer);
    /// Where the hand's offset brings the moved cards, but for what they line up with.
    QPointF lined(QPointF offset, LaneId lane, QPointF onGrid) const;
    void show();
    /// The lanes to which the hand has brought nodes from others.
    std::map<NodeId, LaneId> newLanes() const;
    /// What the lanes that the hand is over would break and cost; worked out once for each.
    void lookAhead();
    /// Where the only thing that is moved would be put into a wire.
    std::optional<Splice> spliceHere() const;
    /// Where it ends. On to a collapsed lane it goes at the height that it had: nobody saw another one.
    static Position placeOf(const Item& item, const Graph& graph);
    /// The frame that a node would belong to where it is now: the one that it was dragged into, or none when
    /// it was dragged out of one. Within a frame, or along with all of it, it stays what it is.
    FrameId frameFor(const Node& node) const;
    /// The same for a module all of whose nodes are moved.
    FrameId parentFor(const Frame& frame) const;
    FrameId frameBetween(FrameId home, QPointF from, QPointF to) const;

    QPointF m_start;
    QPointF m_startPixel;
    LaneId m_grabbed;
    std::vector<Item> m_items;
    MovedThings m_moved;             ///< the items
    std::optional<Edge> m_pulledOut; ///< the wire of the dot that is new
    std::set<DotRef> m_chosen;       ///< the dots that are moved for their own sake
    std::optional<QRectF> m_bounds;  ///< of the cards, or of the dots where there are none, where they stood
    std::vector<LaneId> m_seen;      ///< the lanes that the preview speaks of, by item
    std::optional<Selection> m_onClick;
    bool m_moving = false;
};

/// The Delta that moves nodes, notes and dots by `offset` within their lanes: the arrow keys.
Delta nudge(const Graph& graph, const Selection& selected, QPointF offset);

} // namespace twb
