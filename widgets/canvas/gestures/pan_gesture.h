#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Scrolls the canvas with the pointer.
class PanGesture final : public Gesture {
public:
    PanGesture(GestureHost& host, const Pointer& start) : Gesture(host), m_last(start.pixel) {}
    void move(const Pointer& pointer) override {
        m_host.panBy(pointer.pixel - m_last);
        m_last = pointer.pixel;
    }
    void finish(const Pointer& pointer) override { move(pointer); }
    Qt::CursorShape cursor() const override { return Qt::ClosedHandCursor; }

private:
    QPointF m_last;
};

} // namespace twb
