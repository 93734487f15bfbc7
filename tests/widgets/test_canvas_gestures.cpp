#include "support/test_main.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/canvas_fixture.h"
#include "widgets/palette/op_list_model.h"

#include <QDropEvent>
#include <QMimeData>
#include <QSignalSpy>
#include <QWheelEvent>

#include <cmath>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

Graph withFrame(SmallGraph& small) {
    DeltaBuilder builder(small.graph, "frame");
    const FrameId frame = builder.addFrame({FrameId::none, "module", FrameId::none});
    for (NodeId id : {small.sum, small.out}) {
        Node node = *small.graph.find(id);
        node.frame = frame;
        builder.change(node);
    }
    Graph graph = small.graph;
    graph.apply(builder.take());
    return graph;
}

void wheel(CanvasWidget& canvas, QPointF at, QPoint angle, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(at, canvas.mapToGlobal(at), {}, angle, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(&canvas, &event);
}

} // namespace

class TestCanvasGestures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void clickSelectsAndControlToggles() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.click(c.middle(g.a));
        QCOMPARE(c.document.selection().nodes, std::set<NodeId>{g.a});
        c.click(c.middle(g.sum), Qt::ControlModifier);
        QCOMPARE(c.document.selection().nodes, (std::set<NodeId>{g.a, g.sum}));
        c.click(c.middle(g.a), Qt::ShiftModifier);
        QCOMPARE(c.document.selection().nodes, std::set<NodeId>{g.sum});
        c.click(c.pixel({700, 100}));
        QVERIFY(c.document.selection().empty());
        QCOMPARE(c.undoSteps(), 0);
    }

    void clickOnOneOfSeveralSelectsItAlone() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.click(c.middle(g.a));
        c.click(c.middle(g.sum), Qt::ControlModifier);
        c.click(c.middle(g.sum));
        QCOMPARE(c.document.selection().nodes, std::set<NodeId>{g.sum});
    }

    void clickSelectsTheWire() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const Edge edge{{g.a, 0}, {g.sum, 0}};
        const WireShape* wire = c.canvas.scene().wires().find(edge);
        QVERIFY(wire);
        c.click(c.pixel(c.canvas.scene().wires().path(*wire).at(0.5)));
        QCOMPARE(c.document.selection().edge, std::optional<Edge>(edge));
        c.key(Qt::Key_Delete);
        QVERIFY(!c.document.graph().sourceOf(edge.to));
        QCOMPARE(c.undoSteps(), 1);
    }

    void dragMovesInTheLaneOnTheGrid() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const Position before = c.node(g.out).position;
        c.drag(c.middle(g.out), c.middle(g.out) + QPoint(51, 42));
        QCOMPARE(c.node(g.out).lane, g.cpu);
        QCOMPARE(c.node(g.out).position, (Position{before.x + 48, before.y + 40}));
        QCOMPARE(c.undoSteps(), 1);
        QCOMPARE(c.document.undoStack().undoText(), QStringLiteral("Move out"));
        c.document.undoStack().undo();
        QCOMPARE(c.node(g.out).position, before);
        QCOMPARE(c.shape(g.out).rect.topLeft(), QPointF(before.x, before.y));
    }

    void dragToAnotherLaneChangesTheDevice() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const Graph before = c.document.graph();
        const LaneBand* cuda = c.canvas.scene().lanes().find(g.cuda);
        QVERIFY(cuda);
        const QPoint to = c.pixel({c.shape(g.sum).rect.center().x(), cuda->top + 100});
        c.drag(c.middle(g.sum), to);
        QCOMPARE(c.node(g.sum).lane, g.cuda);
        QCOMPARE(c.document.graph().deviceOf(c.node(g.sum)), Device::cuda(0));
        QVERIFY(c.node(g.sum).position.y >= 8);
        QCOMPARE(std::fmod(c.node(g.sum).position.y, 8.0), 0.0);
        QCOMPARE(c.undoSteps(), 1);
        QCOMPARE(c.document.undoStack().undoText(), QStringLiteral("Move sum to cuda:0"));
        // The card stays where it was dropped.
        QVERIFY(std::abs(c.shape(g.sum).rect.center().y() - (cuda->top + 100)) <= 4.01);
        QVERIFY(c.canvas.scene().wires().find({{g.a, 0}, {g.sum, 0}})->mismatch);
        c.document.undoStack().undo();
        QVERIFY(c.document.graph() == before);
        QVERIFY(!c.canvas.scene().wires().find({{g.a, 0}, {g.sum, 0}})->mismatch);
    }

    void dragShowsTheTargetLaneAndEscapeTakesItBack() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const QRectF before = c.shape(g.sum).rect;
        const LaneBand* cuda = c.canvas.scene().lanes().find(g.cuda);
        c.press(c.middle(g.sum));
        c.moveTo(c.pixel({300, cuda->top + 90}));
        QCOMPARE(c.shape(g.sum).device, Device::cuda(0));
        QVERIFY(c.shape(g.sum).rect != before);
        QCOMPARE(c.node(g.sum).lane, g.cpu);
        c.key(Qt::Key_Escape);
        QCOMPARE(c.shape(g.sum).rect, before);
        QCOMPARE(c.shape(g.sum).device, Device::cpu());
        c.release(c.pixel({300, cuda->top + 90}));
        QCOMPARE(c.undoSteps(), 0);
    }

    void severalMoveTogetherInOneStep() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.click(c.middle(g.sum));
        c.click(c.middle(g.out), Qt::ControlModifier);
        const double apart = c.node(g.out).position.x - c.node(g.sum).position.x;
        const LaneBand* cuda = c.canvas.scene().lanes().find(g.cuda);
        c.drag(c.middle(g.sum), c.pixel({260, cuda->top + 80}));
        QCOMPARE(c.node(g.sum).lane, g.cuda);
        QCOMPARE(c.node(g.out).lane, g.cuda);
        QCOMPARE(c.node(g.out).position.x - c.node(g.sum).position.x, apart);
        QCOMPARE(c.node(g.out).position.y, c.node(g.sum).position.y);
        QCOMPARE(c.undoSteps(), 1);
    }

    void aFrameTakesItsNodesAcrossLanes() {
        SmallGraph g;
        ShownCanvas c(withFrame(g));
        QCOMPARE(c.canvas.scene().frames().shapes().size(), std::size_t{1});
        const QRectF title = c.canvas.scene().frames().shapes().front().titleRect;
        const LaneBand* cuda = c.canvas.scene().lanes().find(g.cuda);
        c.drag(c.pixel(title.center()), c.pixel({title.center().x(), cuda->top + 40}));
        QCOMPARE(c.node(g.sum).lane, g.cuda);
        QCOMPARE(c.node(g.out).lane, g.cuda);
        QCOMPARE(c.undoSteps(), 1);
    }

    void aNoteMovesAndWantsToBeEdited() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const QPoint at = c.pixel(c.canvas.scene().notes().front().rect.center());
        c.drag(at, at + QPoint(32, 16));
        QCOMPARE(c.document.graph().find(g.note)->position, (Position{472, 40}));
        QSignalSpy spy(&c.canvas, &CanvasWidget::noteActivated);
        QTest::mouseDClick(&c.canvas, Qt::LeftButton, {}, at + QPoint(32, 16));
        QCOMPARE(spy.count(), 1);
    }

    void connectsFromOutputToInput() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.drag(c.output(g.b), c.input(g.sum, 1));
        QCOMPARE(c.document.graph().sourceOf({g.sum, 1}), std::optional<PortRef>(PortRef{g.b, 0}));
        QCOMPARE(c.undoSteps(), 1);
    }

    void connectsFromInputToOutputAndSnaps() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.drag(c.input(g.sum, 1), c.output(g.b) + QPoint(14, 6));
        QCOMPARE(c.document.graph().sourceOf({g.sum, 1}), std::optional<PortRef>(PortRef{g.b, 0}));
    }

    void aCardTakesTheWireAtItsFreePort() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.drag(c.output(g.b), c.middle(g.sum) + QPoint(20, 0));
        QCOMPARE(c.document.graph().sourceOf({g.sum, 1}), std::optional<PortRef>(PortRef{g.b, 0}));
        QCOMPARE(c.document.graph().sourceOf({g.sum, 0}), std::optional<PortRef>(PortRef{g.a, 0}));
    }

    void refusesWhatDoesNotFit() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        // Relu does not accept bool.
        c.drag(c.output(g.flags), c.input(g.out, 0));
        QCOMPARE(c.document.graph().sourceOf({g.out, 0}), std::optional<PortRef>(PortRef{g.sum, 0}));
        // A cycle, also one of two nodes.
        c.drag(c.output(g.out), c.input(g.sum, 1));
        QVERIFY(!c.document.graph().sourceOf({g.sum, 1}));
        // An empty place.
        c.drag(c.output(g.b), c.pixel({600, 180}));
        QCOMPARE(c.undoSteps(), 0);
    }

    void dragOfAnInputsEndDisconnectsOrReplugs() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.drag(c.input(g.sum, 0), c.input(g.sum, 1));
        QCOMPARE(c.document.graph().sourceOf({g.sum, 1}), std::optional<PortRef>(PortRef{g.a, 0}));
        QVERIFY(!c.document.graph().sourceOf({g.sum, 0}));
        QCOMPARE(c.undoSteps(), 1);
        c.drag(c.input(g.sum, 1), c.pixel({600, 190}));
        QVERIFY(!c.document.graph().sourceOf({g.sum, 1}));
        QCOMPARE(c.undoSteps(), 2);
        c.document.undoStack().undo();
        c.document.undoStack().undo();
        QCOMPARE(c.document.graph().sourceOf({g.sum, 0}), std::optional<PortRef>(PortRef{g.a, 0}));
    }

    void deleteRemovesNodesWithTheirWires() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.click(c.middle(g.sum));
        c.key(Qt::Key_Backspace);
        QVERIFY(!c.document.graph().find(g.sum));
        QCOMPARE(c.document.graph().edgeCount(), std::size_t{0});
        QVERIFY(!c.canvas.scene().nodes().find(g.sum));
        QCOMPARE(c.document.undoStack().undoText(), QStringLiteral("Delete sum"));
        c.document.undoStack().undo();
        QVERIFY(c.document.graph() == g.graph);
        QVERIFY(c.canvas.scene().wires().find({{g.a, 0}, {g.sum, 0}}));
    }

    void rubberBandSelectsWhatItTouches() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.drag(c.pixel({220, 10}), c.pixel({460, 60}));
        QCOMPARE(c.document.selection().nodes, (std::set<NodeId>{g.sum, g.out}));
        c.drag(c.pixel({10, 8}), c.pixel({30, 40}), Qt::ShiftModifier);
        QCOMPARE(c.document.selection().nodes, (std::set<NodeId>{g.a, g.sum, g.out}));
        QCOMPARE(c.undoSteps(), 0);
    }

    void arrowsWithControlMoveTheSelectionByTheGrid() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.click(c.middle(g.sum));
        c.key(Qt::Key_Right, Qt::ControlModifier);
        c.key(Qt::Key_Down, Qt::ControlModifier);
        QCOMPARE(c.node(g.sum).position, (Position{248, 32}));
        QCOMPARE(c.undoSteps(), 2);
        c.click(c.middle(g.a));
        for (int i = 0; i < 4; ++i) c.key(Qt::Key_Left, Qt::ControlModifier);
        QCOMPARE(c.node(g.a).position.x, 8.0); // limited by the lane's border
        QCOMPARE(c.undoSteps(), 3);
    }

    void wheelZoomsAtTheCursor() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        for (const int angle : {120, 120, -120, -360, 240}) {
            const QPointF at(431, 217);
            const QPointF fixed = c.canvas.view().toScene(at);
            const double before = c.canvas.view().zoom();
            wheel(c.canvas, at, {0, angle});
            QVERIFY(angle > 0 ? c.canvas.view().zoom() > before : c.canvas.view().zoom() < before);
            const QPointF off = c.canvas.view().toPixel(fixed) - at;
            QVERIFY2(std::abs(off.x()) <= 0.51 && std::abs(off.y()) <= 0.51,
                     "the point under the cursor moved");
        }
        const double zoom = c.canvas.view().zoom();
        const QPointF origin = c.canvas.view().viewport().topLeft();
        wheel(c.canvas, {400, 300}, {0, 120}, Qt::ShiftModifier);
        QCOMPARE(c.canvas.view().zoom(), zoom);
        QVERIFY(c.canvas.view().viewport().left() < origin.x());
        QCOMPARE(c.canvas.view().viewport().top(), origin.y());
    }

    void middleButtonAndSpacePan() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const QPointF before = c.canvas.view().viewport().topLeft();
        c.press({500, 300}, Qt::MiddleButton);
        c.moveTo({460, 290}, Qt::MiddleButton);
        c.release({460, 290}, Qt::MiddleButton);
        QCOMPARE(c.canvas.view().viewport().topLeft(), before + QPointF(40, 10));
        QTest::keyPress(&c.canvas, Qt::Key_Space);
        c.drag(c.middle(g.out), c.middle(g.out) + QPoint(-24, 0));
        QTest::keyRelease(&c.canvas, Qt::Key_Space);
        QCOMPARE(c.canvas.view().viewport().topLeft(), before + QPointF(64, 10));
        QCOMPARE(c.undoSteps(), 0);
    }

    void dropOfAnOpNamesTheLaneAndThePlace() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        QSignalSpy spy(&c.canvas, &CanvasWidget::opDropped);
        QMimeData mime;
        mime.setData(QLatin1String(kOpMimeType), QByteArray("MatMul"));
        const QPoint at = c.pixel({200, c.canvas.scene().lanes().find(g.cuda)->top + 61});
        QDragEnterEvent enter(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
        QApplication::sendEvent(&c.canvas, &enter);
        QVERIFY(enter.isAccepted());
        QDragMoveEvent move(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
        QApplication::sendEvent(&c.canvas, &move);
        QVERIFY(move.isAccepted());
        c.canvas.grab();
        QDropEvent drop(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
        QApplication::sendEvent(&c.canvas, &drop);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(spy.front()[0].toString(), QStringLiteral("MatMul"));
        QCOMPARE(spy.front()[1].value<LaneId>(), g.cuda);
        const Position place = spy.front()[2].value<Position>();
        const QRectF outline = placeFor(QStringLiteral("MatMul"), c.canvas.view().toScene(at),
                                        c.canvas.document(), c.canvas.scene())
                                   .outline;
        QCOMPARE(place.x, outline.left());
        QCOMPARE(place.y, 24.0);
        QVERIFY(std::abs(outline.center().x() - 200) <= kGrid); // the card's centre follows the pointer
    }

    void headerAndMenuSignals() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        QSignalSpy header(&c.canvas, &CanvasWidget::laneHeaderClicked);
        c.click({40, 60});
        QCOMPARE(header.count(), 1);
        QCOMPARE(header.front()[0].value<LaneId>(), g.cpu);
        QCOMPARE(laneAt(c.canvas.scene(), c.canvas.view().toScene({40, 60})), g.cpu);
        QCOMPARE(laneAt(c.canvas.scene(), c.canvas.view().toScene(c.middle(g.out))), g.cpu);
        QCOMPARE(laneAt(c.canvas.scene(), c.canvas.view().toScene({500, 10000})), g.results);
        QSignalSpy activated(&c.canvas, &CanvasWidget::nodeActivated);
        QTest::mouseDClick(&c.canvas, Qt::LeftButton, {}, c.middle(g.sum));
        QCOMPARE(activated.count(), 1);
        QTest::mousePress(&c.canvas, Qt::RightButton, {}, c.middle(g.a));
        QCOMPARE(c.document.selection().nodes, std::set<NodeId>{g.a});
    }

    void fitShowsTheWholeGraphUntilTheViewMoves() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        addNode(builder, lane, "Ones", "far right", 900, 16);
        addNode(builder, lane, "Ones", "far below", 1400, 2000);
        graph.apply(builder.take());
        ShownCanvas c(graph);
        const auto isAllSeen = [&] {
            const QRectF all = c.canvas.scene().extent();
            const QRectF seen = c.canvas.view().viewport();
            return seen.left() <= all.left() && seen.right() >= all.right() && seen.top() <= all.top() &&
                   seen.bottom() >= all.bottom() - 1;
        };
        QVERIFY(isAllSeen());
        const double before = c.canvas.view().zoom();
        c.canvas.resize(700, 400);
        QVERIFY(isAllSeen());
        QVERIFY(c.canvas.view().zoom() < before);
        c.canvas.navigator().zoomIn();
        const double own = c.canvas.view().zoom();
        c.canvas.resize(1000, 700);
        QCOMPARE(c.canvas.view().zoom(), own);
    }

    void fitShowsTheWiresAndNoEmptyBand() {
        // A wire that runs backwards goes around both cards; the lane is far taller than its cards, which are
        // far to the right.
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 1800});
        const NodeId late = addNode(builder, cpu, "Ones", "late", 2600, 16);
        const NodeId early = addNode(builder, cpu, "Relu", "early", 1200, 400);
        builder.connect({{late, 0}, {early, 0}});
        graph.apply(builder.take());
        ShownCanvas c(graph);
        const QRectF wire = c.canvas.scene().wires().find({{late, 0}, {early, 0}})->bounds;
        QVERIFY(wire.left() < c.shape(early).rect.left() && wire.right() > c.shape(late).rect.right());
        const QRectF seen = c.canvas.view().viewport();
        const double header = headerWidthFor(c.canvas.width()) / c.canvas.view().zoom();
        QVERIFY(seen.adjusted(header, 0, 0, 0).contains(wire));
        const double leftBand = (wire.left() - seen.left() - header) * c.canvas.view().zoom();
        QVERIFY2(leftBand <= 24, qPrintable(QString::number(leftBand)));
        QVERIFY2(c.canvas.view().zoom() * wire.width() >
                     0.85 * (c.canvas.width() - header * c.canvas.view().zoom()),
                 qPrintable(QString::number(c.canvas.view().zoom())));
    }

    void doubleClickOpensWhatANodeRuns() {
        SmallGraph g;
        Graph graph = withFrame(g);
        DeltaBuilder builder(graph, "own");
        Frame body = *graph.frames().begin();
        body.owner = g.a;
        body.body = "body";
        builder.change(body);
        graph.apply(builder.take());
        ShownCanvas c(graph);
        QSignalSpy activated(&c.canvas, &CanvasWidget::nodeActivated);
        const QRectF inside = c.canvas.scene().boundsOf({g.sum, g.out}, {});
        const auto isInTheMiddle = [&] {
            return std::abs(c.pixel(inside.center()).y() - c.canvas.height() / 2) <= 2;
        };
        QVERIFY(!isInTheMiddle());
        QTest::mouseDClick(&c.canvas, Qt::LeftButton, {}, c.middle(g.a));
        QVERIFY(isInTheMiddle());
        QCOMPARE(activated.count(), 0);
        QVERIFY(c.canvas.rect().contains(c.pixel(inside.topLeft())) &&
                c.canvas.rect().contains(c.pixel(inside.bottomRight())));
    }

    void randomGesturesAreUndoneToTheStart_data() {
        QTest::addColumn<int>("seed");
        for (const int seed : {1, 2, 3, 4}) QTest::addRow("seed %d", seed) << seed;
    }
    void randomGesturesAreUndoneToTheStart() {
        QFETCH(int, seed);
        std::mt19937 random(static_cast<unsigned>(seed));
        const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
        SmallGraph g;
        ShownCanvas c(withFrame(g));
        const Graph before = c.document.graph();
        const auto somewhere = [&] {
            // Mostly near an item; otherwise most clicks would do nothing.
            std::vector<QPoint> spots;
            for (const NodeShape& shape : c.canvas.scene().nodes().shapes()) {
                if (shape.id == NodeId::none) continue;
                spots.push_back(c.middle(shape.id));
                if (shape.inputs > 0) spots.push_back(c.input(shape.id, below(shape.inputs)));
                if (shape.outputs > 0) spots.push_back(c.output(shape.id));
            }
            if (spots.empty() || below(3) == 0) return QPoint(below(1000), below(700));
            return spots[static_cast<std::size_t>(below(static_cast<int>(spots.size())))];
        };
        static constexpr Qt::Key kKeys[] = {Qt::Key_Left,   Qt::Key_Right,  Qt::Key_Up, Qt::Key_Down,
                                            Qt::Key_Delete, Qt::Key_Escape, Qt::Key_F,  Qt::Key_A};
        for (int step = 0; step < 250; ++step) {
            const auto modifiers = below(5) == 0 ? Qt::ControlModifier : Qt::NoModifier;
            switch (below(6)) {
            case 0:
            case 1:
            case 2:
                c.drag(somewhere(), somewhere(), modifiers);
                break;
            case 3: {
                const Qt::Key key = kKeys[below(std::size(kKeys))];
                // Deleting everything would end the test early.
                if (key != Qt::Key_Delete || c.document.selection().nodes.size() < 3)
                    c.key(key, key == Qt::Key_A || below(2) ? Qt::ControlModifier : Qt::NoModifier);
                break;
            }
            case 4:
                wheel(c.canvas, somewhere(), {0, below(2) ? 120 : -120});
                if (c.canvas.view().zoom() < 0.3 || c.canvas.view().zoom() > 2)
                    c.canvas.navigator().zoomToFit();
                break;
            default:
                if (below(2))
                    c.document.undoStack().undo();
                else
                    c.document.undoStack().redo();
                break;
            }
            if (step % 25 == 0) c.canvas.grab();
        }
        QVERIFY(c.document.undoStack().count() > 10);
        const Graph end = [&] {
            while (c.document.undoStack().canRedo()) c.document.undoStack().redo();
            return c.document.graph();
        }();
        while (c.document.undoStack().canUndo()) c.document.undoStack().undo();
        QVERIFY(c.document.graph() == before);
        while (c.document.undoStack().canRedo()) c.document.undoStack().redo();
        QVERIFY(c.document.graph() == end);
    }

    void aChangeFromElsewhereEndsTheGesture() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        c.press(c.middle(g.sum));
        c.moveTo(c.middle(g.sum) + QPoint(60, 60));
        DeltaBuilder builder(c.document.graph(), "remove");
        builder.removeNode(g.sum);
        c.document.apply(builder.take());
        c.moveTo({500, 200});
        c.release({500, 200});
        QCOMPARE(c.undoSteps(), 1);
        QVERIFY(!c.canvas.scene().nodes().find(g.sum));
    }
};

TWB_GUI_TEST_MAIN(TestCanvasGestures)
#include "test_canvas_gestures.moc"
