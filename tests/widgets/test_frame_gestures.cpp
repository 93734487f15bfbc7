#include "graph/composites.h"
#include "support/test_main.h"
#include "widgets/add_op.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/canvas_fixture.h"
#include "widgets/module_edits.h"
#include "widgets/palette/op_list_model.h"

using namespace twb;
using namespace twb::test;

namespace {

/// A Repeat on a cpu lane, a Relu beside it, and a module of two more nodes below.
struct Looped {
    Graph graph;
    LaneId lane;
    NodeId relu, first, second;
    FrameId body, module;

    Looped() {
        DeltaBuilder builder(graph, "make");
        lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 640});
        graph.apply(builder.take());
        graph.apply(addOp(graph, {QStringLiteral("Repeat"), lane, {40, 40}}));
        body = graph.frames().begin()->id;
        DeltaBuilder more(graph, "more");
        module = more.addFrame({FrameId::none, "block", FrameId::none});
        relu = addNode(more, lane, "Relu", "relu", 40, 300);
        first = addNode(more, lane, "Abs", "first", 280, 300, {}, module);
        second = addNode(more, lane, "Exp", "second", 280, 420, {}, module);
        graph.apply(more.take());
    }
};

} // namespace

class TestFrameGestures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNodeDraggedIntoABodyIsItsMember() {
        Looped g;
        ShownCanvas c(g.graph);
        const QRectF frame = c.canvas.scene().frames().find(g.body)->rect;
        const QPoint inside = c.pixel({frame.center().x(), frame.bottom() - 8}); // beside its wire
        c.drag(c.middle(g.relu), inside);
        QCOMPARE(c.node(g.relu).frame, g.body);
        QCOMPARE(c.undoSteps(), 1);
        QVERIFY(c.document.undoStack().undoText().endsWith(QStringLiteral("into body of loop")));
        // Within the frame the node stays a member, and the frame does not grow before the button is
        // released.
        c.press(c.middle(g.relu));
        const QRectF before = c.canvas.scene().frames().find(g.body)->rect;
        c.moveTo(c.middle(g.relu) + QPoint(0, 300));
        QCOMPARE(c.canvas.scene().frames().find(g.body)->rect, before);
        c.canvas.grab();
        c.moveTo(inside);
        c.release(inside);
        QCOMPARE(c.node(g.relu).frame, g.body);
        // Outside the frame it is not a member.
        c.drag(c.middle(g.relu), c.pixel({frame.center().x(), frame.bottom() + 200}));
        QCOMPARE(c.node(g.relu).frame, FrameId::none);
        c.document.undoStack().undo();
        QCOMPARE(c.node(g.relu).frame, g.body);
        c.document.undoStack().setIndex(0);
        QCOMPARE(c.node(g.relu).frame, FrameId::none);
        QCOMPARE(c.node(g.relu).position, (Position{40, 300}));
    }

    void aModuleDraggedIntoABodyGoesAsAWhole() {
        Looped g;
        ShownCanvas c(g.graph);
        const QPointF to = c.canvas.scene().frames().find(g.body)->rect.center();
        const FrameShape& module = *c.canvas.scene().frames().find(g.module);
        const QPointF by = to - module.rect.center();
        const QPointF title = module.titleRect.center();
        c.drag(c.pixel(title), c.pixel(title + by));
        QCOMPARE(c.document.graph().find(g.module)->parent, g.body);
        QCOMPARE(c.node(g.first).frame, g.module);
        QCOMPARE(c.undoSteps(), 1);
        c.document.undoStack().undo();
        QCOMPARE(c.document.graph().find(g.module)->parent, FrameId::none);
    }

    void cancelLeavesMembershipAlone() {
        Looped g;
        ShownCanvas c(g.graph);
        c.press(c.middle(g.first));
        c.moveTo(c.middle(g.relu));
        c.moveTo(c.middle(g.relu) + QPoint(10, 0));
        c.key(Qt::Key_Escape);
        QCOMPARE(c.node(g.first).frame, g.module);
        QCOMPARE(c.undoSteps(), 0);
    }

    void anOpDroppedIntoABodyIsItsMember() {
        Looped g;
        ShownCanvas c(g.graph);
        const QRectF frame = c.canvas.scene().frames().find(g.body)->rect;
        const Position at = positionAt(c.canvas.scene(), c.canvas.view().toScene(c.pixel(frame.center())));
        const FrameId found = frameAt(c.canvas.scene(), g.lane, at);
        QCOMPARE(found, g.body);
        QCOMPARE(frameAt(c.canvas.scene(), g.lane, {600, 560}), FrameId::none);
        std::vector<NodeId> added;
        c.document.apply(addOp(c.document.graph(), {QStringLiteral("Relu"), g.lane, at, found}, &added));
        QCOMPARE(c.node(added.front()).frame, g.body);
        // Of a composite, its modules and its loose nodes join the body.
        c.document.apply(addOp(c.document.graph(), {QStringLiteral("Linear"), g.lane, at, found}, &added));
        const FrameId linear = c.node(added.front()).frame;
        QVERIFY(linear != g.body);
        QCOMPARE(c.document.graph().find(linear)->parent, g.body);
    }

    void aFrameIsSelectedByItsEdge() {
        Looped g;
        ShownCanvas c(g.graph);
        const QRectF rect = c.canvas.scene().frames().find(g.module)->rect;
        for (const QPointF at :
             {QPointF(rect.right(), rect.center().y()), QPointF(rect.center().x(), rect.bottom()),
              QPointF(rect.left() + 1, rect.bottom() - 20)}) {
            c.document.select({});
            c.click(c.pixel(at));
            const std::vector<NodeId> inside = nodesOfModule(c.document.graph(), g.module);
            QVERIFY(!inside.empty());
            QCOMPARE(c.document.selection().nodes, std::set<NodeId>(inside.begin(), inside.end()));
        }
        // The frame's inside starts a rubber band.
        c.click(c.pixel(rect.bottomLeft() + QPointF(40, -9)));
        QVERIFY(c.document.selection().empty());
    }

    /// This holds even if the whole of a large graph is in view.
    void titlesAreLegibleAtAnyZoom() {
        Looped g;
        ShownCanvas c(g.graph);
        const Scene& scene = c.canvas.scene();
        const double near = scene.frames().find(g.body)->titleRect.height() * c.canvas.view().zoom();
        while (c.canvas.view().zoom() > 0.26) c.canvas.navigator().zoomOut();
        c.canvas.grab();
        const FrameShape& frame = *scene.frames().find(g.body);
        QVERIFY(frame.titleRect.height() * c.canvas.view().zoom() >= std::min(near, 17.0));
        QVERIFY(!frame.shownTitle.isEmpty());
        c.click(c.pixel(frame.titleRect.center()));
        QVERIFY(!c.document.selection().nodes.empty());
        for (const FrameShape& a : scene.frames().shapes())
            for (const FrameShape& b : scene.frames().shapes())
                QVERIFY(a.id == b.id || !a.titleRect.intersects(b.titleRect));
    }

    void titlesAreInsideTheFirstLane() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 640});
        const FrameId frame = builder.addFrame({FrameId::none, "block", FrameId::none});
        for (int i = 0; i < 12; ++i)
            addNode(builder, lane, "Abs", "abs" + std::to_string(i), 24 + 280 * i, 24, {}, frame);
        graph.apply(builder.take());
        ShownCanvas c(std::move(graph));
        for (int i = 0; i < 8; ++i) {
            c.canvas.grab();
            const QRectF title = c.canvas.scene().frames().find(frame)->titleRect;
            QVERIFY(!title.isEmpty());
            QVERIFY2(title.top() >= 0, qPrintable(QString::number(c.canvas.view().zoom())));
            c.canvas.navigator().zoomOut();
        }
    }

    void doubleClickOnATitleZoomsToItsFrame() {
        Looped g;
        ShownCanvas c(g.graph);
        for (int i = 0; i < 6; ++i) c.canvas.navigator().zoomOut();
        const double before = c.canvas.view().zoom();
        QTest::mouseDClick(&c.canvas, Qt::LeftButton, {},
                           c.pixel(c.canvas.scene().frames().find(g.body)->titleRect.center()));
        QVERIFY(c.canvas.view().zoom() > before);
        QVERIFY(c.canvas.view().viewport().contains(c.canvas.scene().frames().find(g.body)->rect));
    }
};

TWB_GUI_TEST_MAIN(TestFrameGestures)
#include "test_frame_gestures.moc"
