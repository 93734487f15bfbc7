#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Cuts every wire that the stroke crosses, in one step.
class CutGesture final : public Gesture {
public:
    CutGesture(GestureHost& host, const Pointer& start) : Gesture(host), m_last(start.at) {}
    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    Qt::CursorShape cursor() const override { return Qt::CrossCursor; }

private:
    QPointF m_last;
};

} // namespace twb
