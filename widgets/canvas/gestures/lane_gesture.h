#pragma once

#include "widgets/canvas/gestures/gesture.h"

namespace twb {

/// Drags a lane by its header: the bottom edge resizes the lane, the rest reorders it.
class LaneGesture final : public Gesture {
public:
    enum class Part : std::uint8_t { body, edge };
    LaneGesture(GestureHost& host, LaneId lane, Part part) : Gesture(host), m_lane(lane), m_part(part) {}
    void move(const Pointer& pointer) override;
    void finish(const Pointer& pointer) override;
    void cancel() override;
    Qt::CursorShape cursor() const override {
        return m_part == Part::edge ? Qt::SizeVerCursor : Qt::ClosedHandCursor;
    }
    bool scrollsAtRim() const override { return true; }

private:
    double heightAt(double y) const;
    int stepsAt(double y) const;

    LaneId m_lane;
    Part m_part;
};

} // namespace twb
