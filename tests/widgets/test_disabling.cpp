#include "support/test_main.h"
#include "widgets/canvas/caption.h"
#include "widgets/window_hand.h"

#include <QLineEdit>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> relu -> neg on cpu.
struct Chain {
    Graph graph;
    NodeId x, relu, neg;

    Chain() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 360});
        x = addNode(builder, cpu, "Ones", "x", 16, 16);
        relu = addNode(builder, cpu, "Relu", "relu", 240, 16);
        neg = addNode(builder, cpu, "Neg", "neg", 480, 16);
        builder.connect({{x, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {neg, 0}});
        graph.apply(builder.take());
    }
};

} // namespace

class TestDisabling : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void keyDisablesAndEnablesANode() {
        const Chain g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.relu));
        QCOMPARE(action(*hand.window, QStringLiteral("Disable"))->isEnabled(), true);
        hand.key(Qt::Key_M);
        QVERIFY(hand.node(g.relu).disabled);
        QVERIFY(hand.shape(g.relu).isDisabled);
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Disable relu"));
        QVERIFY(hand.document.analysis().find(g.neg)->fine);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::finished);
        QCOMPARE(hand.window->runs().state().nodes.at(g.relu).state, StepState::pending);
        QCOMPARE(hand.window->runs().state().nodes.at(g.neg).state, StepState::done);
        QVERIFY(action(*hand.window, QStringLiteral("Enable")));
        hand.canvas.setFocus();
        hand.key(Qt::Key_M);
        QVERIFY(!hand.node(g.relu).disabled);
        QVERIFY(hand.window->runs().state().stale);
        hand.document.undoStack().undo();
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void someOfSeveralAreAllDisabledInOneStep() {
        const Chain g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.relu));
        hand.key(Qt::Key_M);
        hand.key(Qt::Key_A, Qt::ControlModifier);
        hand.key(Qt::Key_M);
        for (const Node& node : hand.graph().nodes()) QVERIFY(node.disabled);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Disable 2 nodes"));
        hand.key(Qt::Key_M);
        for (const Node& node : hand.graph().nodes()) QVERIFY(!node.disabled);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Enable 3 nodes"));
    }

    void letterIsTypedInTextFields() {
        const Chain g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.relu));
        hand.key(Qt::Key_F2);
        auto* name = find<QLineEdit>(*hand.window, "nodeName");
        QTRY_VERIFY(name->hasFocus());
        QTest::keyClicks(name, QStringLiteral("mm"));
        QTest::keyClick(name, Qt::Key_Return);
        QVERIFY(!hand.node(g.relu).disabled);
        QCOMPARE(hand.node(g.relu).name, std::string("mm"));
    }

    void disabledNodeIsDimmedAndLabelled() {
        const Chain g;
        WindowHand hand(g.graph);
        hand.document.select({});
        const auto inkOf = [&] {
            const QRect card(hand.pixel(hand.shape(g.relu).rect.topLeft()),
                             hand.pixel(hand.shape(g.relu).rect.bottomRight()));
            const QImage image = hand.canvas.grab(card.adjusted(10, 6, -16, -6)).toImage();
            int most = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) most = std::max(most, qGray(image.pixel(x, y)));
            return most;
        };
        const int before = inkOf();
        hand.click(hand.middle(g.relu));
        hand.key(Qt::Key_M);
        hand.document.select({});
        QVERIFY2(inkOf() < before * 3 / 4, qPrintable(QStringLiteral("%1 of %2").arg(inkOf()).arg(before)));
        // The same at a lower zoom.
        while (hand.canvas.view().zoom() > 0.5) hand.canvas.navigator().zoomOut();
        const int dimmed = inkOf();
        hand.document.undoStack().undo();
        QVERIFY2(dimmed < inkOf() * 3 / 4, qPrintable(QStringLiteral("%1 of %2").arg(dimmed).arg(inkOf())));
        hand.document.undoStack().redo();
        const NodeFacts* facts = hand.document.analysis().find(g.relu);
        QCOMPARE(captionOf(hand.node(g.relu), facts), QStringLiteral("Relu · disabled"));
    }
};

TWB_GUI_TEST_MAIN(TestDisabling)
#include "test_disabling.moc"
