#pragma once

#include "widgets/canvas/gestures/gesture.h"
#include "widgets/canvas/journey_shape.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <set>

class QContextMenuEvent;
class QHelpEvent;
class QMouseEvent;
class QWheelEvent;

namespace twb {

class CanvasWidget;

/// The pointer on the canvas: what is under it, and the gesture of a pressed button.
class CanvasMouse : public QObject {
    Q_OBJECT

public:
    CanvasMouse(CanvasWidget& canvas, GestureHost& host);

    const Hit& hover() const noexcept { return m_hover; }
    /// The journey of the tensor on the wire under the pointer, or nothing.
    const std::optional<JourneyShape>& journey() const noexcept { return m_journey; }
    /// Null while no button is pressed.
    const Gesture* gesture() const noexcept { return m_gesture.get(); }
    /// Where the pointer was seen last, in the widget.
    QPointF pixel() const noexcept { return m_pointer.pixel; }
    /// Whether the header of a lane is there.
    bool isHeader(QPointF pixel) const;

    /// False if there is no gesture.
    bool cancelGesture();
    /// Forgets what was under the pointer until it moves.
    void clearHover() { setHover({}); }
    /// What a click on a node selects: the node, or all nodes of the collapsed module that contains it.
    std::set<NodeId> nodesAt(NodeId id) const;
    /// Whether the left button scrolls the view.
    void setPanning(bool pans);
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void press(const QMouseEvent& event);
    void move(const QMouseEvent& event);
    void release(const QMouseEvent& event);
    void doubleClick(const QMouseEvent& event);
    void turnWheel(const QWheelEvent& event);
    void askForMenu(const QContextMenuEvent& event);
    void showToolTip(const QHelpEvent& event);

    Pointer pointerAt(QPointF pixel, Qt::KeyboardModifiers modifiers) const;
    Hit hitAt(QPointF pixel) const;
    LaneId laneAt(QPointF pixel) const;
    /// The lane whose collapse arrow is there, or none.
    LaneId laneArrowAt(QPointF pixel) const;
    /// The lane whose bottom edge is there, in its header, or none.
    LaneId laneEdgeAt(QPointF pixel) const;
    void selectForPress(const Hit& hit, const Pointer& pointer);
    std::unique_ptr<Gesture> gestureFor(const Hit& hit, const Pointer& pointer);
    /// A new dot out of a wire with Shift; null otherwise, and if the wire takes no dot.
    std::unique_ptr<Gesture> pullDot(const Edge& edge, const Pointer& pointer);
    void openStub(const StubShape& stub);
    /// Shows the bodies of an If, Loop or Scan. False for a node without bodies.
    bool openBodies(NodeId owner);
    void setHover(const Hit& hit);
    void updateCursor();
    void scrollAtRim();

    CanvasWidget& m_canvas;
    GestureHost& m_host;
    Document& m_document;
    const Scene& m_scene;
    std::unique_ptr<Gesture> m_gesture;
    Hit m_hover;
    std::optional<JourneyShape> m_journey;
    Pointer m_pointer;
    LaneId m_pressedHeader = LaneId::none;
    QPointF m_pressedPixel;
    bool m_pans = false;
    QTimer m_rimTimer;
};

} // namespace twb
