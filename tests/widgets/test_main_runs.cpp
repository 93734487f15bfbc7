#include "support/test_main.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/window_hand.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QProgressBar>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTimer>

using namespace twb;
using namespace twb::test;

namespace {

/// Waits until a timer at the frame rate has fired three times; any other active timer would have fired by
/// then, too.
void waitForTicks() {
    QTimer timer;
    timer.setTimerType(Qt::PreciseTimer);
    QSignalSpy ticks(&timer, &QTimer::timeout);
    timer.start(20);
    while (ticks.count() < 3) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

} // namespace

class TestMainRuns : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void graphWithErrorsDoesNotRun();
    void digitsClassifies328Images();
    void continuousRunStops();
    void tf32IsAllowedFromTheMenu();
    void editingMarksResultsStale();
    void ledgerRowSelectsTheEdge();
    void theWindowFollowsALongRunCheaply();
    void openingAnotherFileEndsTheRun();
    void openingAFileAsksAboutTheRun();
    void aWireIsSelectedWhileAHiddenLedgerIsBehind();
};

void TestMainRuns::initTestCase() {
    isolateSettings();
    Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
}

void TestMainRuns::graphWithErrorsDoesNotRun() {
    const auto window = makeWindow();
    window->load(sourcePath(kMismatch));
    QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
    QVERIFY(!window->runs().isRunning());
    QVERIFY(!window->runs().figures());
    QVERIFY(find<QLabel>(*window, "status")->text().contains(QLatin1String("1 problem")));
    QVERIFY(find<QTableView>(*window, "problemsTable")->isVisible());
}

void TestMainRuns::digitsClassifies328Images() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    auto* iterations = find<QSpinBox>(*window, "iterations");
    iterations->selectAll();
    QTest::keyClicks(iterations, QStringLiteral("3"));
    QTest::keyClick(iterations, Qt::Key_Return);
    // Before the run, times are predicted from the profile.
    QVERIFY(!window->runs().state().edges.empty());
    for (const auto& [edge, run] : window->runs().state().edges) {
        QVERIFY(run.predicted);
        QVERIFY(run.ns > 0);
    }
    QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
    QVERIFY(window->runs().isRunning());
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::finished);
    QCOMPARE(window->runs().result()->iterations, std::int64_t(3));
    const auto& probes = window->runs().probes();
    const auto accuracy =
        std::find_if(probes.begin(), probes.end(), [](const auto& p) { return p.name == "accuracy"; });
    QVERIFY(accuracy != probes.end());
    QVERIFY(std::abs(accuracy->value - 328.0 / 360) < 1e-6);
    QVERIFY(find<QLabel>(*window, "status")->text().contains(QLatin1String("modelled")));
    // The inspector shows the Probe's value.
    QVERIFY(window->selectNode(QStringLiteral("accuracy")));
    QCOMPARE(find<QLabel>(*window, "scalarValue")->text(), QStringLiteral("0.911111"));
    // Every transfer was counted at its edge, exactly.
    const Ledger& ledger = window->runs().figures()->ledger();
    for (std::size_t i = 0; i < ledger.rows().size(); ++i)
        QCOMPARE(ledger.rows()[i].count, ledger.plan()->transfers[i].setup ? 1u : 3u);
    for (const auto& [edge, run] : window->runs().state().edges) QVERIFY(!run.predicted);
    // A tensor is available, although the measured run shared its memory.
    const std::optional<Tensor> logits =
        window->runs().tensor({window->document().graph().findByName("fc2")->id, 0});
    QVERIFY(logits);
    QCOMPARE(logits->shape(), (Shape{360, 10}));
}

void TestMainRuns::tf32IsAllowedFromTheMenu() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    const auto run = [&] {
        QTest::keyClick(window.get(), Qt::Key_F5);
        return waitForRun(*window) && window->runs().result()->status == RunStatus::finished;
    };
    QVERIFY(run());
    QVERIFY(!window->runs().report().allowTf32);
    QTest::keyClick(window.get(), Qt::Key_F5, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(!window->runs().report().allowTf32); // from the previous run
    QVERIFY(run());
    QVERIFY(window->runs().report().allowTf32);
    QVERIFY(toTable(window->runs().report(), false).find("TF32 allowed") != std::string::npos);
    QTest::keyClick(window.get(), Qt::Key_F5, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(run());
    QVERIFY(!window->runs().report().allowTf32);
}

void TestMainRuns::continuousRunStops() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QSignalSpy frames(&window->runs(), &RunController::frame);
    QTest::mouseClick(find<QPushButton>(*window, "runContinuously"), Qt::LeftButton);
    QVERIFY(window->runs().isContinuous());
    QTRY_VERIFY(window->runs().done() >= 2);
    QVERIFY(window->runs().isRunning());
    QVERIFY(!find<QProgressBar>(*window, "runProgress")->isVisible()); // without an end, it would only move
    QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::cancelled);
    QVERIFY(window->runs().result()->iterations >= 2);
    QVERIFY(frames.count() >= 1);
    QVERIFY(find<QPushButton>(*window, "run")->isEnabled());
}

void TestMainRuns::editingMarksResultsStale() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runs().run(1);
    QVERIFY(waitForRun(*window));
    QVERIFY(!window->runs().state().stale);
    Document& document = window->document();
    Node moved = *document.graph().findByName("relu");
    moved.position.x += 8;
    DeltaBuilder move(document.graph(), "Move");
    move.change(moved);
    document.apply(move.take());
    QVERIFY(!window->runs().state().stale); // moving a card does not change results
    Node changed = *document.graph().findByName("fc1");
    changed.attributes.set("alpha", 2.0);
    DeltaBuilder change(document.graph(), "Set alpha");
    change.change(changed);
    document.apply(change.take());
    QVERIFY(window->runs().state().stale);
    QVERIFY(find<QLabel>(*window, "fresh")->text().contains(QLatin1String("out of date")));
}

void TestMainRuns::ledgerRowSelectsTheEdge() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runs().run(2);
    QVERIFY(waitForRun(*window));
    QCoreApplication::processEvents();
    auto* ledger = find<QTableView>(*window, "ledgerTable");
    QVERIFY(ledger->model()->rowCount() >= 2);
    QVERIFY(ledger->model()->index(0, 0).data().toString().contains(QLatin1String("images")));
    clickRow(*ledger, 0);
    const std::optional<Edge> edge = window->document().selection().edge;
    QVERIFY(edge);
    QCOMPARE(window->document().graph().find(edge->from.node)->name, std::string("images"));
    QCOMPARE(window->document().graph().sourceOf(edge->to), std::optional(edge->from));
}

/// At most one frame per 16 ms for any number of iterations, and none after the end.
void TestMainRuns::theWindowFollowsALongRunCheaply() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QSignalSpy frames(&window->runs(), &RunController::frame);
    QElapsedTimer timer;
    timer.start();
    window->runs().run(200);
    QVERIFY(waitForRun(*window));
    QVERIFY(frames.count() >= 1);
    QVERIFY2(frames.count() <= timer.elapsed() / 14 + 2, qPrintable(QString::number(frames.count())));
    const qsizetype before = frames.count();
    waitForTicks();
    QCOMPARE(frames.count(), before);
    for (const LedgerRow& row : window->runs().figures()->ledger().rows())
        QVERIFY(row.count == 200 || row.count == 1);
}

void TestMainRuns::openingAnotherFileEndsTheRun() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runContinuously();
    QTRY_VERIFY(window->runs().done() >= 1);
    window->load(sourcePath(kMismatch));
    QVERIFY(!window->runs().isRunning());
    QVERIFY(!window->runs().figures());
    QVERIFY(find<QPushButton>(*window, "run")->isEnabled());
    waitForTicks();
    QVERIFY(!window->runs().result()); // no result of the old run arrives
    window->load(sourcePath(kDigits));
    window->runs().run(1);
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::finished);
}

/// Once, the run ended without a question, and the window was blocked until its last kernel ended.
void TestMainRuns::openingAFileAsksAboutTheRun() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runContinuously();
    QTRY_VERIFY(window->runs().done() >= 1);
    BoxAnswer cancel(QMessageBox::Cancel);
    QVERIFY(!window->openFile(sourcePath(kMismatch)));
    QVERIFY(cancel.answered());
    QVERIFY(cancel.text().contains(QLatin1String("Stop run 1")));
    QVERIFY(window->runs().isRunning());
    QCOMPARE(window->document().path(), sourcePath(kDigits));
    QSignalSpy finished(&window->runs(), &RunController::finished);
    QSignalSpy reset(&window->document(), &Document::reset);
    bool hadEnded = false;
    connect(&window->document(), &Document::reset, this, [&] { hadEnded = finished.count() == 1; });
    QTimer presser;
    connect(&presser, &QTimer::timeout, this, [&] {
        QWidget* box = QApplication::activeModalWidget();
        auto* stop = box ? box->findChild<QPushButton*>(QStringLiteral("stopRun")) : nullptr;
        if (!stop) return;
        presser.stop();
        QTest::mouseClick(stop, Qt::LeftButton);
    });
    presser.start(5);
    QVERIFY(window->openFile(sourcePath(kMismatch)));
    QVERIFY(hadEnded);
    QCOMPARE(reset.count(), 1);
    QVERIFY(!window->runs().isRunning());
    QCOMPARE(window->document().path(), sourcePath(kMismatch));
}

/// Once, this crashed: the hidden ledger still had rows of copies that the run did not make.
void TestMainRuns::aWireIsSelectedWhileAHiddenLedgerIsBehind() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
    const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260});
    const NodeId x = addNode(builder, cpu, "Ones", "x", 24, 24);
    const NodeId relu = addNode(builder, cpu, "Relu", "relu", 240, 24);
    const NodeId to = addNode(builder, cuda, "To", "to", 440, 24);
    builder.connect({{x, 0}, {relu, 0}});
    builder.connect({{relu, 0}, {to, 0}});
    graph.apply(builder.take());
    WindowHand hand(graph);
    QCOMPARE(find<QTableView>(*hand.window, "ledgerTable")->model()->rowCount(), 1); // predicted
    hand.key(Qt::Key_2, Qt::AltModifier);                                            // hides the ledger
    hand.click(hand.middle(to));
    hand.key(Qt::Key_Delete);
    hand.key(Qt::Key_F5);
    QVERIFY(waitForRun(*hand.window));
    const Edge edge{{x, 0}, {relu, 0}};
    hand.click(hand.onWire(edge));
    QCOMPARE(hand.document.selection().edge, std::optional(edge));
}

TWB_GUI_TEST_MAIN(TestMainRuns)
#include "test_main_runs.moc"
