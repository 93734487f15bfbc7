#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QMenu>

using namespace twb;
using namespace twb::test;

namespace {

/// 0 … 5 on cpu -> plus (x + x) -> To cuda:0 -> root -> minus.
struct Line {
    Graph graph;
    NodeId x, plus, to, root, minus;

    Line() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260});
        x = addNode(builder, cpu, "Arange", "x", 24, 24, {{"limit", 6.0}, {"dtype", std::string("f32")}});
        plus = addNode(builder, cpu, "Add", "plus", 280, 24);
        to = addNode(builder, cuda, "To", "to", 480, 24);
        root = addNode(builder, cuda, "Sqrt", "root", 640, 24);
        minus = addNode(builder, cuda, "Neg", "minus", 640, 144);
        builder.connect({{x, 0}, {plus, 0}});
        builder.connect({{x, 0}, {plus, 1}});
        builder.connect({{plus, 0}, {to, 0}});
        builder.connect({{to, 0}, {root, 0}});
        builder.connect({{root, 0}, {minus, 0}});
        GraphInfo info = graph.info();
        info.iterations = 3;
        builder.setInfo(info);
        graph.apply(builder.take());
    }
};

bool waitForStop(WindowHand& hand) {
    return QTest::qWaitFor([&] { return hand.window->runs().isStopped(); }, 20'000);
}

QString status(WindowHand& hand) { return find<QLabel>(*hand.window, "status")->text(); }

StepState stateOf(WindowHand& hand, NodeId id) { return hand.window->runs().state().nodes.at(id).state; }

} // namespace

class TestBreakpoints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aKeySetsItAndTakesItAwayInOneStep() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        QCOMPARE(hand.node(line.root).breakpoint->toString(), std::string("after"));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Stop after root"));
        QVERIFY(hand.shape(line.root).breakpoint);
        QVERIFY(action(*hand.window, QStringLiteral("Stop after the node"))->isChecked());
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        QCOMPARE(hand.node(line.root).breakpoint->toString(), std::string("before"));
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        QVERIFY(!hand.node(line.root).breakpoint);
        hand.document.undoStack().setIndex(0);
        QVERIFY(hand.graph() == line.graph);
        QVERIFY(!hand.shape(line.root).breakpoint);
    }

    void theMenuOfANodeHasIt() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.plus));
        QMenu* menu = nullptr;
        QTimer::singleShot(50, [&] {
            auto* context = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (!context) return;
            for (QAction* entry : context->actions())
                if (entry->menu() && entry->text().contains(QLatin1String("reakpoint"))) menu = entry->menu();
            if (menu)
                for (QAction* entry : menu->actions())
                    if (entry->text().contains(QLatin1String("NaN"))) {
                        menu->popup(hand.canvas.mapToGlobal(QPoint(200, 200)));
                        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
                    }
            context->close();
        });
        QContextMenuEvent event(QContextMenuEvent::Mouse, hand.middle(line.plus),
                                hand.canvas.mapToGlobal(hand.middle(line.plus)));
        QApplication::sendEvent(&hand.canvas, &event);
        QVERIFY(menu);
        QCOMPARE(hand.node(line.plus).breakpoint->toString(), std::string("nan or inf"));
    }

    void aRunStopsThereStepsAndGoesOn() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.plus));
        hand.key(Qt::Key_B);
        hand.document.select({});
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        // The node is selected, its tensor is there, and the rest of the iteration is still to come.
        QCOMPARE(hand.document.selection().nodes, (std::set{line.plus}));
        QCOMPARE(stateOf(hand, line.x), StepState::done);
        QCOMPARE(stateOf(hand, line.plus), StepState::done);
        QCOMPARE(stateOf(hand, line.root), StepState::pending);
        QVERIFY2(status(hand).contains(QLatin1String("after plus, iteration 1")), qPrintable(status(hand)));
        const auto tensor = hand.window->runs().tensor({line.plus, 0});
        QVERIFY(tensor);
        QCOMPARE(tensor->at(5), 10.0);
        QVERIFY(find<QWidget>(*hand.window, "tensorPages")->isVisible());
        auto* run = find<QPushButton>(*hand.window, "run");
        auto* step = find<QPushButton>(*hand.window, "step");
        QCOMPARE(run->text(), QStringLiteral("Continue"));
        QVERIFY(run->isEnabled() && step->isVisible());
        // The window lives: a wire shows its tensor, and the graph can be edited.
        hand.click(hand.middle(line.x));
        QCOMPARE(hand.document.selection().nodes, (std::set{line.x}));
        QVERIFY(hand.window->runs().tensor({line.x, 0}));
        QVERIFY(!hand.window->runs().tensor({line.root, 0}));
        QTest::mouseClick(step, Qt::LeftButton);
        QVERIFY(waitForStop(hand));
        QVERIFY2(status(hand).contains(QLatin1String("after to, iteration 1")), qPrintable(status(hand)));
        QCOMPARE(hand.document.selection().nodes, (std::set{line.to}));
        hand.key(Qt::Key_F10);
        QVERIFY(waitForStop(hand));
        QVERIFY(status(hand).contains(QLatin1String("after root, iteration 1")));
        QCOMPARE(hand.window->runs().tensor({line.root, 0})->at(2), 2.0);
        QCOMPARE(stateOf(hand, line.root), StepState::done);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QVERIFY(status(hand).contains(QLatin1String("after plus, iteration 2")));
        hand.click(hand.middle(line.plus));
        hand.key(Qt::Key_B); // no more of it
        QTest::mouseClick(run, Qt::LeftButton);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::finished);
        QCOMPARE(hand.window->runs().result()->iterations, std::int64_t(3));
        QVERIFY(hand.window->runs().result()->stoppedNs > 0);
        QCOMPARE(run->text(), QStringLiteral("Run"));
        QVERIFY(!step->isVisible());
        QVERIFY(!hand.window->runs().state().stale); // a breakpoint changes no result
        QCOMPARE(hand.window->runs().figures()->ledger().rows()[0].count, std::uint64_t(3));
    }

    void aConditionIsAskedForAndKept() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        DialogAnswer answer("breakpoint", QDialogButtonBox::Ok, [](QDialog& dialog) {
            auto* statistic = dialog.findChild<QComboBox*>(QStringLiteral("statistic"));
            statistic->setFocus();
            QTest::keyClicks(statistic, QStringLiteral("maximum"));
            auto* limit = dialog.findChild<QLineEdit*>(QStringLiteral("limit"));
            auto* ok = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
            limit->selectAll();
            QTest::keyClicks(limit, QStringLiteral("x"));
            QVERIFY(!ok->isEnabled());
            limit->selectAll();
            QTest::keyClicks(limit, QStringLiteral("3"));
            QVERIFY(ok->isEnabled());
        });
        hand.key(Qt::Key_B, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(answer.answered());
        QCOMPARE(hand.node(line.root).breakpoint->toString(), std::string("max > 3"));
        hand.window->activateWindow(); // which a dialog offscreen does not give back
        QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QVERIFY2(status(hand).contains(QLatin1String("max is 3.16228")), qPrintable(status(hand)));
        hand.key(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::cancelled);
    }

    void theListEnablesAndRemoves() {
        const Line line;
        WindowHand hand(line.graph);
        hand.key(Qt::Key_8, Qt::AltModifier);
        auto* table = find<QTableView>(*hand.window, "breakpointTable");
        QVERIFY(!table->isVisible()); // nothing to list
        for (const NodeId id : {line.plus, line.root}) {
            hand.click(hand.middle(id));
            hand.key(Qt::Key_B);
        }
        QVERIFY(table->isVisible());
        QCOMPARE(table->model()->rowCount(), 2);
        QCOMPARE(table->model()->index(1, 0).data().toString(), QStringLiteral("root"));
        QCOMPARE(table->model()->index(1, 1).data().toString(), QStringLiteral("after it"));
        // A click on the box turns it off, and the run goes by.
        const QRect cell = table->visualRect(table->model()->index(0, 0));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, QPoint(cell.left() + 10, cell.center().y()));
        QVERIFY(!hand.node(line.plus).breakpoint->enabled);
        QCOMPARE(table->model()->index(0, 3).data().toString(), QStringLiteral("off"));
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QCOMPARE(hand.document.selection().nodes, (std::set{line.root}));
        QVERIFY(table->model()->index(1, 3).data().toString().contains(QLatin1String("stands here")));
        // A row selects its node; Delete takes the breakpoint away, not the node.
        clickRow(*table, 1);
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Delete);
        QCOMPARE(table->model()->rowCount(), 1);
        QVERIFY(hand.graph().find(line.root));
        QVERIFY(!hand.node(line.root).breakpoint);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::finished);
    }

    void itIsSavedWithTheProject() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("g.twb"));
        hand.document.save(path);
        hand.window->load(path);
        QCOMPARE(hand.node("root")->breakpoint->toString(), std::string("before"));
    }

    void theWindowClosesAndOpensWhileItStands() {
        const Line line;
        {
            WindowHand hand(line.graph);
            hand.click(hand.middle(line.root));
            hand.key(Qt::Key_B);
            hand.key(Qt::Key_F5);
            QVERIFY(waitForStop(hand));
            QElapsedTimer timer;
            timer.start();
            hand.window->load(sourcePath(kDigits));
            QVERIFY(timer.elapsed() < 5000);
            QVERIFY(!hand.window->runs().isRunning() && !hand.window->runs().isStopped());
            QCOMPARE(find<QPushButton>(*hand.window, "run")->text(), QStringLiteral("Run"));
        }
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QElapsedTimer timer;
        timer.start();
        hand.window.reset();
        QVERIFY(timer.elapsed() < 5000);
    }

    void itIsDrawn() {
        const Line line;
        WindowHand hand(line.graph);
        hand.document.select({});
        const auto corner = [&] {
            const QPoint at = hand.pixel(hand.shape(line.root).rect.bottomLeft());
            return hand.canvas.grab(QRect(at - QPoint(9, 12), QSize(20, 18))).toImage();
        };
        const QImage none = corner();
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        hand.document.select({});
        const QImage set = corner();
        QVERIFY(set != none);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_V, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(!hand.node(line.root).breakpoint->enabled);
        hand.document.select({});
        const QImage off = corner();
        QVERIFY(off != none && off != set);
    }
};

TWB_GUI_TEST_MAIN(TestBreakpoints)
#include "test_breakpoints.moc"
