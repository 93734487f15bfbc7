#include "support/test_main.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/window_hand.h"

#include <QAccessible>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QScrollBar>
#include <QToolButton>

using namespace twb;
using namespace twb::test;

namespace {

struct OneConv {
    Graph graph;
    NodeId conv;

    explicit OneConv(const char* op = "Conv") {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 600});
        conv = addNode(builder, cpu, op, "conv", 16, 16);
        graph.apply(builder.take());
    }
};

} // namespace

/// The help of the selected node's op in the inspector.
class TestOpHelp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theHelpNamesOperandsAttributesAndFormats() {
        const OneConv g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.conv));
        auto* toggle = find<QToolButton>(*hand.window, "opHelpToggle");
        auto* text = find<QLabel>(*hand.window, "opHelpText");
        QVERIFY(toggle->isVisible() && !text->isVisible());
        hand.key(Qt::Key_F1, Qt::AltModifier);
        QVERIFY(text->isVisible() && text->hasFocus());
        for (const char* part :
             {"Shapes", "X [n, c, d…]", "<b>W</b> (weight)", "same dtype as X", "dilations", "F.conv2d",
              "as in ONNX opset 22", "versions 1, 11, 22", "differentiable"})
            QVERIFY2(text->text().contains(QString::fromUtf8(part)), qPrintable(text->text()));
        QCOMPARE(text->focusPolicy(), Qt::StrongFocus);
        const QString read = QAccessible::queryAccessibleInterface(text)->text(QAccessible::Name);
        QVERIFY2(read.contains(QLatin1String("dilations")), qPrintable(read));
        // It follows the selection, and closes again.
        hand.document.select({});
        QVERIFY(!toggle->isVisible());
        hand.click(hand.middle(g.conv));
        QVERIFY(text->isVisible());
        QTest::mouseClick(toggle, Qt::LeftButton);
        QVERIFY(!text->isVisible());
    }

    void theHelpIsScrolledIntoView() {
        const OneConv g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.conv));
        hand.window->resize(1000, 500);
        QCoreApplication::processEvents();
        hand.key(Qt::Key_F1, Qt::AltModifier);
        QScrollBar& bar = *hand.window->findChild<Inspector*>()->verticalScrollBar();
        bar.setValue(bar.maximum());
        auto* toggle = find<QToolButton>(*hand.window, "opHelpToggle");
        QVERIFY(toggle->visibleRegion().isEmpty());
        hand.key(Qt::Key_F1, Qt::AltModifier);
        QVERIFY(!toggle->visibleRegion().isEmpty());
    }

    void theHelpNeedsOneNode() {
        OneConv g;
        DeltaBuilder builder(g.graph, "more");
        addNode(builder, g.graph.find(g.conv)->lane, "Relu", "relu", 16, 320);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        hand.key(Qt::Key_A, Qt::ControlModifier);
        hand.key(Qt::Key_F1, Qt::AltModifier);
        QCOMPARE(find<QLabel>(*hand.window, "status")->text(),
                 QStringLiteral("Select one node to see the help for its op."));
    }

    /// Alt+F1, Tab to the button, Space: three more nodes that run, in one undo step.
    void theExampleIsAddedByKeys() {
        const OneConv g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.conv));
        hand.key(Qt::Key_F1, Qt::AltModifier);
        auto* button = find<QPushButton>(*hand.window, "opExample");
        for (int tabs = 0; tabs < 5 && !button->hasFocus(); ++tabs)
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QVERIFY(button->hasFocus());
        QTest::keyClick(button, Qt::Key_Space);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(5));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Add Conv example"));
        QVERIFY(hand.node("W") && hand.node("conv 2"));
        for (const Diagnostic& d : hand.document.analysis().diagnostics)
            QVERIFY2(d.severity != Severity::error || d.node == g.conv, d.message.c_str());
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void theExampleIsDroppedOnALane() {
        const OneConv g("Softmax");
        WindowHand hand(g.graph);
        QMimeData mime;
        mime.setData(QLatin1String(kOpMimeType), "Softmax example");
        const QPoint at(400, 300);
        QDragEnterEvent enter(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &drop);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(3));
        QCOMPARE(hand.graph().edgeCount(), std::size_t(1));
    }

    void opsWithoutExampleHaveNoButton() {
        const OneConv g("File");
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.conv));
        hand.key(Qt::Key_F1, Qt::AltModifier);
        QVERIFY(!find<QPushButton>(*hand.window, "opExample")->isVisible());
        QVERIFY(find<QLabel>(*hand.window, "opHelpText")
                    ->text()
                    .contains(QLatin1String("needs a file of yours")));
    }

    void aPlaceholderNamesItsPlugin() {
        OneConv g("Bend");
        DeltaBuilder builder(g.graph, "name");
        GraphInfo info = g.graph.info();
        info.plugins = {{"bend", "1.2", "https://example.org/bend", {"Bend"}}};
        builder.setInfo(info);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.conv));
        QVERIFY(!find<QToolButton>(*hand.window, "opHelpToggle")->isVisible());
        bool isNamed = false;
        for (const QLabel* label : hand.window->findChildren<QLabel*>())
            isNamed |= label->text().contains(QLatin1String("bend 1.2")) &&
                       label->text().contains(QLatin1String("https://example.org/bend"));
        QVERIFY(isNamed);
    }
};

TWB_GUI_TEST_MAIN(TestOpHelp)
#include "test_op_help.moc"
