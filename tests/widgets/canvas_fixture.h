#pragma once

#include "graph/delta.h"
#include "profile/profiles.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/document.h"

#include <QApplication>
#include <QMouseEvent>
#include <QTest>

#include <filesystem>
#include <string>

namespace twb::test {

inline std::shared_ptr<const ProfileLibrary> profiles() {
    static const auto library = std::make_shared<const ProfileLibrary>(std::filesystem::path(TWB_SOURCE_DIR) /
                                                                       "resources" / "devices");
    return library;
}

inline NodeId addNode(DeltaBuilder& builder, LaneId lane, std::string op, std::string name, double x,
                      double y, Attributes attributes = {}, FrameId frame = FrameId::none) {
    Node node;
    node.op = std::move(op);
    node.name = std::move(name);
    node.lane = lane;
    node.frame = frame;
    node.attributes = std::move(attributes);
    node.position = {x, y};
    return builder.addNode(std::move(node));
}

/// Three lanes (cpu, cuda:0, cpu); on the first "a", "b" (f32 2×3) and "flags" (bool), then "sum" = a +
/// (nothing) and "out" = relu(sum).
struct SmallGraph {
    Graph graph;
    LaneId cpu, cuda, results;
    NodeId a, b, flags, sum, out;
    NoteId note;

    SmallGraph() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 240});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 200});
        results = builder.addLane({LaneId::none, Device::cpu(), "results", 2, 160});
        a = addNode(builder, cpu, "Ones", "a", 16, 16);
        b = addNode(builder, cpu, "Ones", "b", 16, 112);
        flags = addNode(builder, cpu, "Full", "flags", 240, 144,
                        {{"value", 1.0}, {"dtype", std::string("bool")}});
        sum = addNode(builder, cpu, "Add", "sum", 240, 24);
        out = addNode(builder, cpu, "Relu", "out", 440, 24);
        note = builder.addNote({NoteId::none, "a note", cuda, {440, 24}, 200, 0});
        builder.connect({{a, 0}, {sum, 0}});
        builder.connect({{sum, 0}, {out, 0}});
        graph.apply(builder.take());
    }
};

/// A document in a visible canvas of 1000×700 pixels at 100 %, driven by real mouse and key events.
struct ShownCanvas {
    Document document{profiles()};
    CanvasWidget canvas{document};

    explicit ShownCanvas(Graph graph) {
        document.setGraph(std::move(graph), {}, QString());
        canvas.resize(1000, 700);
        canvas.minimap().setWanted(false);
        canvas.show();
        [[maybe_unused]] const bool exposed = QTest::qWaitForWindowExposed(&canvas);
        canvas.navigator().zoomToFit();
    }

    const NodeShape& shape(NodeId id) const { return *canvas.scene().nodes().find(id); }
    QPoint pixel(QPointF at) const { return canvas.view().toPixel(at).toPoint(); }
    QPoint middle(NodeId id) const { return pixel(shape(id).rect.center()); }
    QPoint input(NodeId id, int port) const { return pixel(portPosition(shape(id), PortSide::input, port)); }
    QPoint output(NodeId id, int port = 0) const {
        return pixel(portPosition(shape(id), PortSide::output, port));
    }
    const Node& node(NodeId id) const { return *document.graph().find(id); }

    void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(&canvas, Qt::LeftButton, modifiers, at);
    }
    void press(QPoint at, Qt::MouseButton button = Qt::LeftButton, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mousePress(&canvas, button, modifiers, at);
    }
    /// QTest::mouseMove has no buttons, but a drag is a move with a pressed button.
    void moveTo(QPoint at, Qt::MouseButton button = Qt::LeftButton) {
        QMouseEvent event(QEvent::MouseMove, at, canvas.mapToGlobal(at), Qt::NoButton, button, {});
        QApplication::sendEvent(&canvas, &event);
    }
    void release(QPoint at, Qt::MouseButton button = Qt::LeftButton) {
        QTest::mouseRelease(&canvas, button, {}, at);
    }
    void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
        press(from, Qt::LeftButton, modifiers);
        for (int step = 1; step <= 4; ++step) moveTo(from + (to - from) * step / 4);
        release(to);
    }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) { QTest::keyClick(&canvas, key, modifiers); }
    int undoSteps() { return document.undoStack().index(); }
};

} // namespace twb::test
