#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QSignalSpy>

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
    return QTest::qWaitFor([&] { return hand.window->runs().isStopped(); }, 60'000);
}

QString status(WindowHand& hand) { return find<QLabel>(*hand.window, "status")->text(); }

std::string stopsOf(WindowHand& hand, NodeId id) { return toString(hand.node(id).breakpoints); }

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
        QCOMPARE(stopsOf(hand, line.root), "after");
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Pause after root"));
        QVERIFY(hand.shape(line.root).stops.present);
        QVERIFY(action(*hand.window, QStringLiteral("Pause after the node"))->isChecked());
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        QCOMPARE(stopsOf(hand, line.root), "before; after"); // side by side
        hand.key(Qt::Key_B);
        QCOMPARE(stopsOf(hand, line.root), "before");
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        QCOMPARE(stopsOf(hand, line.root), "");
        hand.document.undoStack().setIndex(0);
        QVERIFY(hand.graph() == line.graph);
        QVERIFY(!hand.shape(line.root).stops.present);
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
        QCOMPARE(stopsOf(hand, line.plus), "nan or inf");
    }

    /// A menu opened on one node acted on another after the run had stopped there.
    void aStopLeavesTheSelectionOfAnOpenMenu() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        hand.click(hand.middle(line.x));
        QMenu menu;
        menu.addAction(QStringLiteral("an entry"));
        menu.popup(hand.canvas.mapToGlobal(QPoint(200, 200)));
        QTRY_VERIFY(QApplication::activePopupWidget());
        hand.window->runs().run(1);
        QVERIFY(waitForStop(hand));
        QCOMPARE(hand.document.selection().nodes, std::set{line.x});
        menu.close();
        hand.window->runs().stop();
        QVERIFY(waitForRun(*hand.window));
    }

    void aRunStopsThereStepsAndGoesOn() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.plus));
        hand.key(Qt::Key_B);
        hand.document.select({});
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        // The node is selected, its tensor is available, and the rest of the iteration has not run.
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
        // The window stays responsive: a wire shows its tensor, and the graph can be edited.
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
        hand.key(Qt::Key_B); // removes the breakpoint
        QTest::mouseClick(run, Qt::LeftButton);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::finished);
        QCOMPARE(hand.window->runs().result()->iterations, std::int64_t(3));
        QVERIFY(hand.window->runs().result()->stoppedNs > 0);
        QCOMPARE(run->text(), QStringLiteral("Run"));
        QVERIFY(!step->isVisible());
        QVERIFY(!hand.window->runs().state().stale); // breakpoints do not change results
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
        QCOMPARE(stopsOf(hand, line.root), "max > 3");
        hand.window->activateWindow(); // an offscreen dialog does not reactivate its window
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
        QVERIFY(!table->isVisible()); // the list is empty
        for (const NodeId id : {line.plus, line.root}) {
            hand.click(hand.middle(id));
            hand.key(Qt::Key_B);
        }
        QVERIFY(table->isVisible());
        QCOMPARE(table->model()->rowCount(), 2);
        QCOMPARE(table->model()->index(1, 0).data().toString(), QStringLiteral("root"));
        QCOMPARE(table->model()->index(1, 1).data().toString(), QStringLiteral("after the node"));
        // A click on the check box disables the breakpoint, and the run does not stop there.
        const QRect cell = table->visualRect(table->model()->index(0, 0));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, QPoint(cell.left() + 10, cell.center().y()));
        QCOMPARE(stopsOf(hand, line.plus), "off after");
        QCOMPARE(hand.document.selection().nodes,
                 (std::set{line.root})); // unchanged, although the row was rebuilt
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Disable breakpoint of plus"));
        QCOMPARE(table->model()->index(0, 3).data().toString(), QStringLiteral("off"));
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QCOMPARE(hand.document.selection().nodes, (std::set{line.root}));
        QVERIFY(table->model()->index(1, 3).data().toString().contains(QLatin1String("paused here")));
        // A row selects its node; Delete removes the breakpoint, not the node.
        clickRow(*table, 1);
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Delete);
        QCOMPARE(table->model()->rowCount(), 1);
        QVERIFY(hand.graph().find(line.root));
        QCOMPARE(stopsOf(hand, line.root), "");
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(hand.window->runs().result()->status, RunStatus::finished);
    }

    void theListFollowsTheDevicesAndTheResults() {
        const Line line;
        WindowHand hand(line.graph);
        hand.key(Qt::Key_8, Qt::AltModifier);
        hand.click(hand.middle(line.plus));
        hand.key(Qt::Key_B);
        auto* table = find<QTableView>(*hand.window, "breakpointTable");
        const QSignalSpy changes(table->model(), &QAbstractItemModel::dataChanged);
        qsizetype seen = 0;
        const auto isTold = [&] { return changes.count() > std::exchange(seen, changes.count()); };
        QCOMPARE(table->model()->index(0, 2).data().toString(), QStringLiteral("cpu"));
        Lane lane = *hand.graph().find(hand.node(line.plus).lane);
        lane.device = Device::cuda(0);
        DeltaBuilder builder(hand.graph(), "another device");
        builder.change(lane);
        hand.document.apply(builder.take());
        QCOMPARE(table->model()->index(0, 2).data().toString(), QStringLiteral("cuda:0"));
        QVERIFY(isTold());
        hand.document.setDeviceChoices({{Device::cuda(0), "t4"}});
        QVERIFY(isTold());
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QVERIFY(isTold());
        // Ctrl+D duplicates nodes; it is no second Delete.
        table->setFocus();
        table->selectRow(0);
        QTest::keyClick(table, Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(stopsOf(hand, line.plus), "after");
        hand.key(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*hand.window));
    }

    /// One row per breakpoint: a double click edits it, its check box disables it, Delete removes it, and the
    /// others stay.
    void severalOfANodeAreRowsOfTheirOwn() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        const auto ask = [](const char* place, const char* limit) {
            return [place, limit](QDialog& dialog) {
                auto* where = dialog.findChild<QComboBox*>(QStringLiteral("place"));
                where->setFocus();
                QTest::keyClicks(where, QString::fromLatin1(place));
                auto* number = dialog.findChild<QLineEdit*>(QStringLiteral("limit"));
                number->selectAll();
                QTest::keyClicks(number, QString::fromLatin1(limit));
            };
        };
        {
            DialogAnswer answer("breakpoint", QDialogButtonBox::Ok, ask("before", "6"));
            hand.key(Qt::Key_B, Qt::AltModifier | Qt::ShiftModifier);
            QVERIFY(answer.answered());
        }
        QCOMPARE(stopsOf(hand, line.root), "input max > 6; after");
        hand.window->bottom().showPage(QStringLiteral("breakpoints"));
        auto* table = find<QTableView>(*hand.window, "breakpointTable");
        QCOMPARE(table->model()->rowCount(), 2);
        QCOMPARE(table->model()->index(0, 1).data().toString(),
                 QStringLiteral("before the node, when max of an input > 6"));
        {
            DialogAnswer answer("breakpoint", QDialogButtonBox::Ok, ask("before", "7.5"));
            const QPoint at = table->visualRect(table->model()->index(0, 1)).center();
            QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, at);
            QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, at);
            QVERIFY(answer.answered());
        }
        QCOMPARE(stopsOf(hand, line.root), "input max > 7.5; after");
        hand.window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QVERIFY2(status(hand).contains(QLatin1String("before root, iteration 1: max of an input is 10")),
                 qPrintable(status(hand)));
        QVERIFY(table->model()->index(0, 3).data().toString().contains(QLatin1String("paused here")));
        QVERIFY(table->model()->index(1, 3).data().toString().isEmpty());
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        QVERIFY(table->model()->index(1, 3).data().toString().contains(QLatin1String("paused here")));
        table->setFocus();
        table->selectRow(1);
        QTest::keyClick(table, Qt::Key_Delete);
        QCOMPARE(stopsOf(hand, line.root), "input max > 7.5");
        hand.key(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*hand.window));
    }

    /// A folded node, or one in a collapsed module, still shows that the run stops there.
    void whatIsDrawnForANodeHasItsMarks() {
        const Line line;
        WindowHand hand(line.graph);
        const auto mark = [&](NodeId id, Qt::KeyboardModifiers modifiers = {}) {
            hand.click(hand.middle(id));
            hand.key(Qt::Key_B, modifiers);
        };
        mark(line.root);
        mark(line.minus, Qt::ShiftModifier);
        hand.document.select({{line.root, line.minus}, {}, std::nullopt});
        action(*hand.window, QStringLiteral("Make module from selection"))->trigger();
        hand.document.select({{line.root}, {}, std::nullopt});
        action(*hand.window, QStringLiteral("Collapse module"))->trigger();
        const NodeShape* card = hand.canvas.scene().nodes().drawn(line.root);
        QVERIFY(card && card->kind == NodeShape::Kind::module);
        QCOMPARE(int(card->stops.present), int(StopMarks::before | StopMarks::after));
        hand.document.select({});
        const auto corner = [&](const NodeShape& shape) {
            const QPoint at = hand.pixel(shape.rect.bottomLeft());
            return hand.canvas.grab(QRect(at - QPoint(9, 12), QSize(60, 24))).toImage();
        };
        const QImage both = corner(*card);
        action(*hand.window, QStringLiteral("Remove all breakpoints"))->trigger();
        QVERIFY(corner(*hand.canvas.scene().nodes().drawn(line.root)) != both);

        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{4, 4}}});
        const NodeId weight = g.node("Ones", "weight", "cpu", {{"shape", std::vector<std::int64_t>{4, 4}}});
        g.node("MatMul", "mm", "cpu", {}, {x, weight});
        Graph graph = g.graph();
        DeltaBuilder builder(graph, "fold");
        Node node = *graph.find(weight);
        node.folded = true;
        builder.change(node);
        graph.apply(builder.take());
        WindowHand folded(graph);
        const NodeShape& row = folded.shape(weight);
        QVERIFY(row.kind == NodeShape::Kind::row);
        const auto leftEnd = [&] {
            const QPoint at = folded.pixel(QPointF(row.rect.left(), row.rect.center().y()));
            return folded.canvas.grab(QRect(at - QPoint(8, 8), QSize(16, 16))).toImage();
        };
        folded.document.select({});
        const QImage none = leftEnd();
        folded.click(folded.pixel(row.rect.center()));
        folded.key(Qt::Key_B);
        folded.document.select({});
        QCOMPARE(stopsOf(folded, weight), "after");
        QVERIFY(leftEnd() != none);
    }

    void itIsSavedWithTheProject() {
        const Line line;
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B, Qt::ShiftModifier);
        hand.key(Qt::Key_Q, Qt::ControlModifier | Qt::AltModifier);
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("g.twb"));
        hand.document.save(path);
        hand.window->load(path);
        QCOMPARE(toString(hand.node("root")->breakpoints), std::string("before; nan or inf"));
    }

    void theWindowClosesAndOpensWhileItStands() {
        const Line line;
        {
            WindowHand hand(line.graph);
            hand.click(hand.middle(line.root));
            hand.key(Qt::Key_B);
            hand.key(Qt::Key_F5);
            QVERIFY(waitForStop(hand));
            hand.window->load(sourcePath(kDigits)); // otherwise the test hangs
            QVERIFY(!hand.window->runs().isRunning() && !hand.window->runs().isStopped());
            QCOMPARE(find<QPushButton>(*hand.window, "run")->text(), QStringLiteral("Run"));
        }
        WindowHand hand(line.graph);
        hand.click(hand.middle(line.root));
        hand.key(Qt::Key_B);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForStop(hand));
        hand.window.reset(); // otherwise the test hangs
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
        QCOMPARE(stopsOf(hand, line.root), "off after");
        hand.document.select({});
        const QImage off = corner();
        QVERIFY(off != none && off != set);
    }
};

TWB_GUI_TEST_MAIN(TestBreakpoints)
#include "test_breakpoints.moc"
