#include "support/test_main.h"
#include "widgets/window_hand.h"

#include <QLineEdit>
#include <QUndoView>

using namespace twb;
using namespace twb::test;

namespace {

/// a, b -> sum -> relu on cpu; x -> act on cuda:0, not connected to the others.
struct TwoIslands {
    Graph graph;
    LaneId cpu, cuda;
    NodeId a, b, sum, relu, x, act;

    TwoIslands() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 360});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 240});
        a = addNode(builder, cpu, "Ones", "a", 16, 16);
        b = addNode(builder, cpu, "Ones", "b", 40, 200);
        sum = addNode(builder, cpu, "Add", "a long name for a sum", 280, 104);
        relu = addNode(builder, cpu, "Relu", "relu", 600, 40);
        x = addNode(builder, cuda, "Ones", "x", 24, 16);
        act = addNode(builder, cuda, "Relu", "act", 320, 56);
        builder.connect({{a, 0}, {sum, 0}});
        builder.connect({{b, 0}, {sum, 1}});
        builder.connect({{sum, 0}, {relu, 0}});
        builder.connect({{x, 0}, {act, 0}});
        graph.apply(builder.take());
    }
};

constexpr auto kControlShift = Qt::ControlModifier | Qt::ShiftModifier;

} // namespace

class TestArranging : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void selectsAlongTheWires() {
        TwoIslands g;
        WindowHand hand(g.graph);
        const auto selected = [&] { return hand.document.selection().nodes; };
        hand.click(hand.middle(g.sum));
        hand.key(Qt::Key_U, Qt::ControlModifier);
        QCOMPARE(selected(), (std::set<NodeId>{g.a, g.b, g.sum}));
        hand.click(hand.middle(g.b));
        hand.key(Qt::Key_J, Qt::ControlModifier);
        QCOMPARE(selected(), (std::set<NodeId>{g.b, g.sum, g.relu}));
        hand.click(hand.middle(g.b));
        hand.key(Qt::Key_L, Qt::ControlModifier);
        QCOMPARE(selected(), (std::set<NodeId>{g.a, g.b, g.sum, g.relu}));
        hand.click(hand.middle(g.relu));
        hand.key(Qt::Key_K, Qt::ControlModifier);
        QCOMPARE(selected(), (std::set<NodeId>{g.relu, g.act}));
        hand.click(hand.middle(g.x));
        hand.key(Qt::Key_A, kControlShift);
        QCOMPARE(selected(), (std::set<NodeId>{g.x, g.act}));
        // For a wire: everything upstream.
        hand.click(hand.onWire({{g.sum, 0}, {g.relu, 0}}));
        hand.key(Qt::Key_U, Qt::ControlModifier);
        QCOMPARE(selected(), (std::set<NodeId>{g.a, g.b, g.sum}));
        QCOMPARE(hand.undoSteps(), 0);
    }

    void alignsEdgesAndMiddlesOnTheirLanes() {
        TwoIslands g;
        WindowHand hand(g.graph);
        const auto rect = [&](NodeId id) { return hand.shape(id).rect; };
        hand.canvas.commands().selectAll();
        hand.key(Qt::Key_L, kControlShift);
        for (const NodeId id : {g.a, g.b, g.sum, g.relu, g.x, g.act}) QCOMPARE(rect(id).left(), 16.0);
        QCOMPARE(hand.undoSteps(), 1);
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);

        hand.canvas.commands().selectAll();
        hand.key(Qt::Key_T, kControlShift);
        for (const NodeId id : {g.a, g.b, g.sum, g.relu}) QCOMPARE(hand.node(id).position.y, 16.0);
        for (const NodeId id : {g.x, g.act}) {
            QCOMPARE(hand.node(id).position.y, 16.0);
            QCOMPARE(hand.node(id).lane, g.cuda);
        }
        hand.document.undoStack().undo();

        hand.click(hand.middle(g.sum));
        hand.click(hand.middle(g.relu), Qt::ControlModifier);
        hand.key(Qt::Key_R, kControlShift);
        QCOMPARE(rect(g.sum).right(), rect(g.relu).right());
        QCOMPARE(hand.node(g.relu).position, (Position{600, 40}));
        hand.document.undoStack().undo();
        hand.key(Qt::Key_C, kControlShift);
        QCOMPARE(rect(g.sum).center().x(), rect(g.relu).center().x());
        hand.document.undoStack().undo();
        hand.key(Qt::Key_M, kControlShift);
        QCOMPARE(rect(g.sum).center().y(), rect(g.relu).center().y());
        // The second time, nothing changes.
        const int steps = hand.undoSteps();
        hand.key(Qt::Key_M, kControlShift);
        QCOMPARE(hand.undoSteps(), steps);
    }

    void distributesTheGaps() {
        TwoIslands g;
        WindowHand hand(g.graph);
        const auto rect = [&](NodeId id) { return hand.shape(id).rect; };
        for (const NodeId id : {g.a, g.sum, g.relu}) hand.click(hand.middle(id), Qt::ControlModifier);
        hand.key(Qt::Key_H, kControlShift);
        QVERIFY(std::abs((rect(g.sum).left() - rect(g.a).right()) -
                         (rect(g.relu).left() - rect(g.sum).right())) < 0.01);
        QCOMPARE(hand.node(g.a).position, (Position{16, 16}));
        QCOMPARE(hand.node(g.relu).position, (Position{600, 40}));
        QCOMPARE(hand.undoSteps(), 1);
        hand.document.undoStack().undo();
        hand.canvas.commands().selectAll();
        hand.key(Qt::Key_V, kControlShift);
        QVERIFY(hand.node(g.b).lane == g.cpu && hand.node(g.b).position.y == 200);
        QVERIFY(hand.node(g.relu).position.y > 40);
        QCOMPARE(hand.node(g.act).position.y, 56.0); // cards on a lane have the same gap
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void disconnectTakesTheWiresToTheRest() {
        TwoIslands g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.sum));
        hand.click(hand.middle(g.relu), Qt::ControlModifier);
        hand.key(Qt::Key_X, kControlShift);
        QCOMPARE(hand.graph().edgeCount(), std::size_t(2));
        QVERIFY(hand.graph().sourceOf({g.relu, 0}));
        QCOMPARE(hand.undoSteps(), 1);
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void duplicateKeepsTheInputs() {
        TwoIslands g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.sum));
        hand.click(hand.middle(g.relu), Qt::ControlModifier);
        hand.key(Qt::Key_D, kControlShift);
        const Node* sum = hand.node("a long name for a sum 2");
        const Node* relu = hand.node("relu 2");
        QVERIFY(sum && relu);
        QCOMPARE(hand.graph().sourceOf({sum->id, 0}), std::optional<PortRef>(PortRef{g.a, 0}));
        QCOMPARE(hand.graph().sourceOf({sum->id, 1}), std::optional<PortRef>(PortRef{g.b, 0}));
        QCOMPARE(hand.graph().sourceOf({relu->id, 0}), std::optional<PortRef>(PortRef{sum->id, 0}));
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{sum->id, relu->id}));
        QCOMPARE(hand.undoSteps(), 1);
    }

    void arrowsWalkTheGraph() {
        TwoIslands g;
        WindowHand hand(g.graph);
        const auto isAt = [&](NodeId id) { return hand.document.selection().nodes == std::set<NodeId>{id}; };
        hand.click(hand.middle(g.a));
        hand.key(Qt::Key_Right);
        QVERIFY(isAt(g.sum));
        hand.key(Qt::Key_Right);
        QVERIFY(isAt(g.relu));
        hand.key(Qt::Key_Right); // the last node
        QVERIFY(isAt(g.relu));
        hand.key(Qt::Key_Left);
        hand.key(Qt::Key_Left);
        QVERIFY(isAt(g.a));
        hand.key(Qt::Key_Down);
        QVERIFY(isAt(g.b));
        hand.key(Qt::Key_Down);
        QVERIFY(isAt(g.x)); // over the lane's border
        hand.key(Qt::Key_Up);
        QVERIFY(isAt(g.b));
        hand.click(hand.onWire({{g.sum, 0}, {g.relu, 0}}));
        hand.key(Qt::Key_Right);
        QVERIFY(isAt(g.relu));
        QCOMPARE(hand.undoSteps(), 0);
        // Without a selection, the view moves.
        hand.key(Qt::Key_Escape);
        const QPointF before = hand.canvas.view().viewport().topLeft();
        hand.key(Qt::Key_Right);
        QVERIFY(hand.canvas.view().viewport().left() > before.x());
        QVERIFY(hand.document.selection().empty());
    }

    void bookmarksComeBack() {
        TwoIslands g;
        WindowHand hand(g.graph);
        hand.canvas.navigator().zoomIn();
        hand.canvas.navigator().centerOn(hand.shape(g.relu).rect.center());
        const QRectF view = hand.canvas.view().viewport();
        hand.key(Qt::Key_B, kControlShift);
        hand.key(Qt::Key_3);
        hand.canvas.navigator().zoomToFit();
        QVERIFY(hand.canvas.view().viewport() != view);
        hand.key(Qt::Key_B, Qt::ControlModifier);
        hand.key(Qt::Key_4); // an unset bookmark
        QVERIFY(hand.canvas.view().viewport() != view);
        hand.key(Qt::Key_B, Qt::ControlModifier);
        hand.key(Qt::Key_3);
        QVERIFY(QPointF(hand.canvas.view().viewport().topLeft() - view.topLeft()).manhattanLength() <= 2);
        QCOMPARE(hand.canvas.view().viewport().size(), view.size());
    }

    void theHistoryGoesBackAndForth() {
        TwoIslands g;
        WindowHand hand(g.graph);
        hand.canvas.commands().selectAll();
        hand.key(Qt::Key_L, kControlShift);
        hand.key(Qt::Key_Delete);
        const Graph end = hand.graph();
        hand.key(Qt::Key_7, Qt::AltModifier);
        auto* history = find<QUndoView>(*hand.window, "history");
        QVERIFY(history->isVisible());
        QCOMPARE(history->model()->rowCount(), 3);
        const auto click = [&](int row) {
            QTest::mouseClick(history->viewport(), Qt::LeftButton, {},
                              history->visualRect(history->model()->index(row, 0)).center());
        };
        click(0);
        QVERIFY(hand.graph() == g.graph);
        click(2);
        QVERIFY(hand.graph() == end);
    }

    void goesToANodeByName() {
        TwoIslands g;
        WindowHand hand(g.graph);
        auto* field = find<QLineEdit>(*hand.window, "quickFind");
        hand.key(Qt::Key_P, Qt::ControlModifier);
        QVERIFY(field->hasFocus());
        QCOMPARE(field->placeholderText(), QStringLiteral("Go to a node"));
        QTest::keyClicks(field, QStringLiteral("re")); // no action matches this name
        QTest::keyClick(field, Qt::Key_Return);
        QTRY_VERIFY(hand.document.selection().nodes == std::set<NodeId>{g.relu});
        QCOMPARE(field->placeholderText(), QStringLiteral("Search actions and nodes"));
    }

    void whatIsMovedLinesUpWithWhatStandsNear() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 360});
        const NodeId still = addNode(builder, cpu, "Ones", "still", 16, 93); // off the grid
        const NodeId moved = addNode(builder, cpu, "Ones", "moved", 400, 168);
        const NodeId third = addNode(builder, cpu, "Ones", "third", 703, 272);
        graph.apply(builder.take());
        WindowHand hand(graph);
        hand.canvas.navigator().zoom100();
        const auto drag = [&](QPoint way, Qt::KeyboardModifiers modifiers = {}) {
            const QPoint from = hand.middle(moved);
            hand.press(from);
            hand.moveTo(from + way / 2, modifiers);
            hand.moveTo(from + way, modifiers);
            const QImage shown = hand.canvas.grab().toImage();
            hand.release(from + way, modifiers);
            return shown;
        };
        const auto isGuide = [](const QImage& image, QPoint at) {
            const QColor accent = Theme::current().accent;
            for (int d = -1; d <= 1; ++d)
                for (const QPoint near : {at + QPoint(d, 0), at + QPoint(0, d)}) {
                    const QColor color = image.pixelColor(near);
                    if (std::abs(color.red() - accent.red()) < 60 &&
                        std::abs(color.blue() - accent.blue()) < 60)
                        return true;
                }
            return false;
        };
        // The drag goes to 96, which is on the grid; the other card's top is 3 higher.
        QImage shown = drag({40, -72});
        QCOMPARE(hand.node(moved).position.y, 93.0);
        QCOMPARE(hand.node(moved).position.x, 440.0);
        const int between = (hand.shape(still).rect.right() + hand.shape(moved).rect.left()) / 2;
        QVERIFY(isGuide(shown, hand.pixel({double(between), hand.shape(still).rect.top()})));
        hand.document.undoStack().undo();
        // Horizontally, relative to a card below.
        shown = drag({300, 0});
        QCOMPARE(hand.node(moved).position.x, 703.0);
        QVERIFY(isGuide(shown, hand.pixel({hand.shape(third).rect.left(),
                                           257 + hand.canvas.scene().lanes().bands()[0].top})));
        hand.document.undoStack().undo();
        // With Alt, without snapping.
        drag({41, -73}, Qt::AltModifier);
        QVERIFY(std::abs(hand.node(moved).position.y - 95) < 0.6);
        QVERIFY(std::abs(hand.node(moved).position.x - 441) < 0.6);
        QCOMPARE(hand.undoSteps(), 1);
    }
};

TWB_GUI_TEST_MAIN(TestArranging)
#include "test_arranging.moc"
