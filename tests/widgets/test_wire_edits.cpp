#include "support/test_main.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/window_hand.h"

#include <QDropEvent>
#include <QMimeData>
#include <QToolTip>

using namespace twb;
using namespace twb::test;

namespace {

/// a -> sum -> relu -> out on one lane, b -> sum, an unconnected Exp and an unconnected Not below.
struct Chain {
    Graph graph;
    LaneId cpu, cuda;
    NodeId a, b, sum, relu, out, exp, negate;

    Chain() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 420});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 120});
        a = addNode(builder, cpu, "Ones", "a", 16, 16);
        b = addNode(builder, cpu, "Ones", "b", 16, 136);
        sum = addNode(builder, cpu, "Add", "sum", 240, 16);
        relu = addNode(builder, cpu, "Relu", "relu", 480, 16);
        out = addNode(builder, cpu, "Sqrt", "out", 840, 16);
        exp = addNode(builder, cpu, "Exp", "exp", 480, 280);
        negate = addNode(builder, cpu, "Not", "not", 680, 280);
        builder.connect({{a, 0}, {sum, 0}});
        builder.connect({{b, 0}, {sum, 1}});
        builder.connect({{sum, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {out, 0}});
        graph.apply(builder.take());
    }
    Edge last() const { return {{relu, 0}, {out, 0}}; }
};

std::optional<PortRef> source(const WindowHand& hand, NodeId node, int port = 0) {
    return hand.graph().sourceOf({node, port});
}

} // namespace

class TestWireEdits : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aLoneNodeDroppedOnAWireIsPutIntoIt() {
        Chain g;
        WindowHand hand(g.graph);
        const QPoint wire = hand.onWire(g.last());
        hand.press(hand.middle(g.exp));
        hand.moveTo(hand.middle(g.exp) + QPoint(0, -20));
        hand.moveTo(wire);
        QVERIFY(!hand.window->grab().isNull()); // draws the preview
        hand.release(wire);
        QCOMPARE(source(hand, g.exp), std::optional<PortRef>(PortRef{g.relu, 0}));
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{g.exp, 0}));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Insert exp between relu and out"));
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void escapeTakesThePreviewBack() {
        Chain g;
        WindowHand hand(g.graph);
        const QImage before = hand.canvas.grab().toImage();
        hand.press(hand.middle(g.exp));
        hand.moveTo(hand.onWire(g.last()));
        QVERIFY(hand.canvas.grab().toImage() != before);
        hand.key(Qt::Key_Escape);
        hand.release(hand.onWire(g.last()));
        QCOMPARE(hand.undoSteps(), 0);
        QVERIFY(hand.graph() == g.graph);
    }

    void unfitOrConnectedNodesAreOnlyMoved() {
        Chain g;
        WindowHand hand(g.graph);
        hand.drag(hand.middle(g.negate), hand.onWire(g.last())); // accepts bool only
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{g.relu, 0}));
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Move not"));
        hand.document.undoStack().undo();
        hand.drag(hand.middle(g.sum), hand.onWire(g.last())); // already has wires
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{g.relu, 0}));
        QCOMPARE(source(hand, g.relu), std::optional<PortRef>(PortRef{g.sum, 0}));
    }

    void anOpFromThePaletteIsPutIntoAWire() {
        Chain g;
        WindowHand hand(g.graph);
        const auto drop = [&](const char* op, QPoint at) {
            QMimeData data;
            data.setData(QLatin1String(kOpMimeType), op);
            QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&hand.canvas, &enter);
            QDragMoveEvent move(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&hand.canvas, &move);
            hand.canvas.grab();
            QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&hand.canvas, &event);
        };
        drop("Tanh", hand.onWire(g.last()));
        const Node* tanh = hand.node("tanh");
        QVERIFY(tanh);
        QCOMPARE(source(hand, tanh->id), std::optional<PortRef>(PortRef{g.relu, 0}));
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{tanh->id, 0}));
        QCOMPARE(hand.undoSteps(), 1);
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
        drop("Linear", hand.onWire(g.last()));
        const auto fed = source(hand, g.out);
        QVERIFY(fed);
        QCOMPARE(hand.node(fed->node).op, std::string("Gemm"));
        QCOMPARE(source(hand, fed->node), std::optional<PortRef>(PortRef{g.relu, 0}));
        hand.document.undoStack().undo();
        drop("Equal", hand.onWire(g.last())); // returns bool, which Sqrt does not accept
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{g.relu, 0}));
    }

    void deleteReconnectsTheWire() {
        Chain g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.sum));
        hand.click(hand.middle(g.relu), Qt::ControlModifier);
        hand.key(Qt::Key_Delete, Qt::ControlModifier);
        QVERIFY(!hand.graph().find(g.sum) && !hand.graph().find(g.relu));
        QCOMPARE(source(hand, g.out), std::optional<PortRef>(PortRef{g.a, 0}));
        QCOMPARE(hand.undoSteps(), 1);
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
        // A node without inputs is deleted without a reconnection.
        hand.click(hand.middle(g.a));
        hand.key(Qt::Key_Delete, Qt::ControlModifier);
        QVERIFY(!source(hand, g.sum, 0));
        QCOMPARE(source(hand, g.sum, 1), std::optional<PortRef>(PortRef{g.b, 0}));
    }

    void deleteDoesNotReconnectMismatchedDtypes() {
        Chain g;
        DeltaBuilder builder(g.graph, "make");
        const NodeId equal = addNode(builder, g.cpu, "Equal", "equal", 240, 280);
        builder.connect({{g.b, 0}, {equal, 0}});
        builder.connect({{equal, 0}, {g.negate, 0}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        hand.click(hand.middle(equal));
        hand.key(Qt::Key_Delete, Qt::ControlModifier);
        QVERIFY(!hand.graph().find(equal));
        QVERIFY(!source(hand, g.negate));
    }

    void aStrokeCutsWhatItCrosses() {
        Chain g;
        WindowHand hand(g.graph);
        const auto knife = Qt::ControlModifier | Qt::ShiftModifier;
        // A stroke between the sources and the sum cuts both wires of the sum, and no others.
        const QPoint from =
            hand.pixel({(hand.shape(g.a).rect.right() + hand.shape(g.sum).rect.left()) / 2, 4});
        hand.press(from, knife);
        for (int step = 1; step <= 6; ++step) hand.moveTo(from + QPoint(0, step * 40), knife);
        QVERIFY(!hand.canvas.grab().isNull());
        QCOMPARE(hand.graph().edgeCount(), std::size_t(4));
        hand.release(from + QPoint(0, 240), knife);
        QCOMPARE(hand.graph().edgeCount(), std::size_t(2));
        QVERIFY(!source(hand, g.sum, 0) && !source(hand, g.sum, 1));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Cut 2 wires"));
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
        // After Escape, and if it crosses no wire, the stroke cuts nothing.
        hand.press(from, knife);
        hand.moveTo(from + QPoint(0, 240), knife);
        hand.key(Qt::Key_Escape);
        hand.release(from + QPoint(0, 240), knife);
        hand.drag(hand.pixel({300, 200}), hand.pixel({440, 260}), knife);
        QCOMPARE(hand.undoSteps(), 0);
        QVERIFY(hand.document.selection().empty());
    }

    void aRefusalSaysWhy() {
        Chain g;
        WindowHand hand(g.graph);
        hand.press(hand.output(g.relu));
        hand.moveTo(hand.middle(g.negate));
        QCOMPARE(QToolTip::text(), QStringLiteral("No input of not accepts f32."));
        hand.moveTo(hand.input(g.negate, 0) + QPoint(1, 0));
        QCOMPARE(QToolTip::text(), QStringLiteral("X of not does not accept f32."));
        hand.moveTo(hand.middle(g.sum));
        QCOMPARE(QToolTip::text(), QStringLiteral("This would form a cycle: relu depends on sum."));
        hand.moveTo(hand.middle(g.a));
        QCOMPARE(QToolTip::text(), QStringLiteral("a has no inputs."));
        hand.moveTo(hand.middle(g.b));
        hand.release(hand.middle(g.negate));
        QCOMPARE(hand.undoSteps(), 0);
    }

    void aWireIsPluggedElsewhere() {
        Chain g;
        WindowHand hand(g.graph);
        hand.drag(hand.input(g.out, 0), hand.input(g.exp, 0));
        QVERIFY(!source(hand, g.out));
        QCOMPARE(source(hand, g.exp), std::optional<PortRef>(PortRef{g.relu, 0}));
        QCOMPARE(hand.undoSteps(), 1);
    }
};

TWB_GUI_TEST_MAIN(TestWireEdits)
#include "test_wire_edits.moc"
