#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Selects the items that touch a rectangle; with Ctrl or Shift, adds them to the selection. A click without
/// a drag clears the selection.
class RubberBandGesture final : public Gesture {
public:
    RubberBandGesture(GestureHost& host, const Pointer& start);
    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    bool scrollsAtRim() const override { return m_preview.rubberBand.has_value(); }

private:
    QPointF m_start;
    QPointF m_startPixel;
    Selection m_before; ///< what stays selected
};

} // namespace twb
