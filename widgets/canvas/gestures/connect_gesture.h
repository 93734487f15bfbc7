#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Draws a wire from a port, or takes an existing wire by the end at its input. Dropped on a port that takes
/// it, it connects; dropped in the void, a new wire asks for an op and a lifted one is disconnected;
/// everything else changes nothing.
class ConnectGesture final : public Gesture {
public:
    /// From a port. An input with a wire gives its wire into the hand.
    ConnectGesture(GestureHost& host, const Pointer& start, PortSide side, PortRef port);
    /// By a wire that was taken somewhere along its way.
    ConnectGesture(GestureHost& host, const Pointer& start, const Edge& wire);

    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    Qt::CursorShape cursor() const override;
    bool scrollsAtRim() const override { return m_moving; }

private:
    void lift(const Edge& wire);
    void seek(const Pointer& pointer);

    QPointF m_startPixel;
    PortSide m_fixedSide = PortSide::output;
    PortRef m_fixed;
    PortSet m_targets;
    bool m_moving = false;
    bool m_isOverCard = false;
    Hit m_under; ///< what the wire's end was over last
};

/// Why what is under the end of a wire does not take it, as a sentence; empty where nothing is known.
QString reasonAgainst(const Document& document, PortSide fixedSide, PortRef fixed, const Hit& under);
/// The ports on the other side that a wire from `fixed` may end in: not its own node, no dtype that the port
/// does not take, and no cycle. Devices do not count: what stands on the wrong one is told, not forbidden.
PortSet portsFor(const Document& document, const Scene& scene, PortSide fixedSide, PortRef fixed);

} // namespace twb
