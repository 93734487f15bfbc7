#pragma once

#include "widgets/window_fixture.h"

#include <QMouseEvent>

#include <string>

namespace twb::test {

inline NodeId addNode(DeltaBuilder& builder, LaneId lane, std::string op, std::string name, double x,
                      double y, Attributes attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.name = std::move(name);
    node.lane = lane;
    node.attributes = std::move(attributes);
    node.position = {x, y};
    return builder.addNode(std::move(node));
}

/// The real window with the given graph, operated by mouse and key events on its canvas.
struct WindowHand {
    std::unique_ptr<MainWindow> window;
    CanvasWidget& canvas;
    Document& document;

    /// `folder`: of the files that the graph names.
    explicit WindowHand(Graph graph, const QString& folder = {})
        : window(makeWindow()), canvas(window->canvas()), document(window->document()) {
        document.setGraph(std::move(graph), {}, folder);
        canvas.minimap().setWanted(false);
        window->activateWindow();
        [[maybe_unused]] const bool active = QTest::qWaitForWindowActive(window.get());
        canvas.setFocus();
        canvas.navigator().zoomToFit();
    }

    const Graph& graph() const { return document.graph(); }
    const NodeShape& shape(NodeId id) const { return *canvas.scene().nodes().find(id); }
    const Node& node(NodeId id) const { return *graph().find(id); }
    const Node* node(const char* name) const { return graph().findByName(name); }
    QPoint pixel(QPointF at) const { return canvas.view().toPixel(at).toPoint(); }
    QPoint middle(NodeId id) const { return pixel(shape(id).rect.center()); }
    QPoint input(NodeId id, int port) const { return pixel(portPosition(shape(id), PortSide::input, port)); }
    QPoint output(NodeId id, int port = 0) const {
        return pixel(portPosition(shape(id), PortSide::output, port));
    }
    /// A point on a wire, t in [0, 1].
    QPoint onWire(const Edge& edge, double t = 0.5) const {
        return pixel(canvas.scene().wires().path(*canvas.scene().wires().find(edge)).at(t));
    }

    void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(&canvas, Qt::LeftButton, modifiers, at);
    }
    void press(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mousePress(&canvas, Qt::LeftButton, modifiers, at);
    }
    /// QTest::mouseMove has no buttons, but a drag is a move with a pressed button.
    void moveTo(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QMouseEvent event(QEvent::MouseMove, at, canvas.mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                          modifiers);
        QApplication::sendEvent(&canvas, &event);
    }
    /// Moves the pointer without a button.
    void hover(QPoint at) {
        QMouseEvent event(QEvent::MouseMove, at, canvas.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(&canvas, &event);
    }
    void release(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseRelease(&canvas, Qt::LeftButton, modifiers, at);
    }
    void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
        press(from, modifiers);
        for (int step = 1; step <= 4; ++step) moveTo(from + (to - from) * step / 4, modifiers);
        release(to, modifiers);
    }
    /// Sends a key to the window as a keyboard does, including shortcuts.
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) { QTest::keyClick(&canvas, key, modifiers); }
    int undoSteps() const { return document.undoStack().index(); }
};

} // namespace twb::test
