#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Draws a wire from a port, or moves the end of an existing wire. Released on a port that accepts it, the
/// wire is connected. Released over an empty place, a new wire asks for an op, and an existing wire is
/// disconnected. Otherwise nothing changes.
class ConnectGesture final : public Gesture {
public:
    /// Starts at a port. At a connected input, takes the end of its wire.
    ConnectGesture(GestureHost& host, const Pointer& start, PortSide side, PortRef port);
    /// Starts at a point along an existing wire.
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
    Hit m_under; ///< under the wire's end at the last move
};

/// The reason why the port or node under the wire's end does not accept it, as a sentence; empty if unknown.
QString reasonAgainst(const Document& document, PortSide fixedSide, PortRef fixed, const Hit& under);
/// The ports on the other side that accept a wire from `fixed`: not on its own node, with a matching dtype,
/// and without a cycle. Devices do not count: a mismatch is reported, not forbidden.
PortSet portsFor(const Document& document, const Scene& scene, PortSide fixedSide, PortRef fixed);

} // namespace twb
