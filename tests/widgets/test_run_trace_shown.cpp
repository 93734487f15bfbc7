#include "support/rank_trace.h"
#include "support/test_main.h"
#include "widgets/file_answer.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/memory_bars.h"
#include "widgets/panels/ranks_panel.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/window_hand.h"

#include <QClipboard>
#include <QFontMetricsF>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include <algorithm>
#include <sstream>

using namespace twb;
using namespace twb::test;

namespace {

/// The trace of three iterations.
struct Job : RankJob {
    QString write(const QTemporaryDir& folder) const {
        const QString path = folder.filePath(QStringLiteral("t.json"));
        writeTrace(path, 3);
        return path;
    }
};

/// A window in which a user has opened the trace of a divided graph.
struct OpenedTrace {
    explicit OpenedTrace(int iterations) {
        const QString path = m_folder.filePath(QStringLiteral("t.json"));
        job.writeTrace(path, iterations);
        FileAnswer file(QString(), path);
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        isOpen = file.answered();
    }
    const DividedJob job;
    WindowHand hand{job.maker.graph()};
    bool isOpen = false;

private:
    const QTemporaryDir m_folder;
};

} // namespace

class TestRunTraceShown : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void eachRankHasItsTracks() {
        const Job job;
        const QTemporaryDir folder;
        const QString path = job.write(folder);
        WindowHand hand(job.maker.graph());
        MainWindow& window = *hand.window;
        FileAnswer file(QString(), path);
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(file.answered());
        RunController& runs = window.runs();
        QCOMPARE(find<QLabel>(window, "status")->text(),
                 QStringLiteral("Trace t.json: 2 ranks, 3 iterations"));
        auto& timeline = *window.findChild<TimelinePanel*>();
        QVERIFY(timeline.isVisible());
        QStringList tracks;
        for (const std::uint32_t stream : timeline.model().streams())
            tracks << QString::fromStdString(timeline.model().plan().streams[stream].label);
        QVERIFY2(tracks.contains(QStringLiteral("rank0/cpu compute")) &&
                     tracks.contains(QStringLiteral("rank1/cpu compute")),
                 qPrintable(tracks.join(QLatin1Char(','))));
        // The graph has the times of rank 0, not their sum.
        QCOMPARE(runs.state().nodes.at(job.work).ns, 1000.0);
        // The ledger has a row for each rank.
        auto& ledger = *window.findChild<LedgerModel*>();
        window.bottom().showPage(QStringLiteral("transfers"));
        QStringList rows;
        for (int row = 0; row < ledger.rowCount(); ++row) rows << ledger.index(row, 0).data().toString();
        QVERIFY2(rows.join(QLatin1Char(',')).contains(QStringLiteral("rank1/")),
                 qPrintable(rows.join(QLatin1Char(','))));
        // A click on a bar of the other rank selects the node.
        window.bottom().showPage(QStringLiteral("timeline"));
        for (std::uint32_t i = std::uint32_t(timeline.model().records().size());
             i-- > 0;) // the last is in view
            if (!runs.figures()->isOfGraph(timeline.model().records()[i].step) &&
                timeline.model().stepOf(i).node == job.work) {
                QTest::mouseClick(&timeline, Qt::LeftButton, {}, timeline.rectOf(i).center().toPoint());
                break;
            }
        QVERIFY(window.document().selection().nodes.contains(job.work));
        QVERIFY(!runs.state().stale);
        // The next run is a run of this machine.
        QTest::mouseClick(find<QPushButton>(window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(window));
        QVERIFY(runs.ranks().empty());
    }

    /// Each card has the time of the rank that computes it.
    void theCardsHaveTheTimesOfAllRanks() {
        OpenedTrace trace(3);
        QVERIFY(trace.isOpen);
        MainWindow& window = *trace.hand.window;
        const DividedJob& job = trace.job;
        const RunState& state = window.runs().state();
        QVERIFY(!state.stale);
        QCOMPARE(state.nodes.at(job.product).ns, 2000.0); // rank 1
        QCOMPARE(state.nodes.at(job.difference).ns, 1000.0);
        // Both copy from or to the GPU, 2 µs. "there" is received by rank 1, "back" by rank 0.
        QCOMPARE(state.nodes.at(job.there).ns, 4000.0);
        QCOMPARE(state.nodes.at(job.back).ns, 3000.0);
        for (const auto& [from, to, ns] :
             {std::tuple(job.x, job.there, 4000.0), {job.product, job.back, 3000.0}}) {
            const EdgeRun& edge = state.edges.at({{from, 0}, {to, 0}});
            QVERIFY(!edge.predicted);
            QCOMPARE(edge.ns, ns);
            // A message of a real run takes no modelled link; the copy at the simulated GPU is modelled.
            QCOMPARE(edge.link, std::string());
            QVERIFY(edge.modelled);
        }
        window.canvas().grab(); // prices are laid out as they are drawn
        const Scene& scene = window.canvas().scene();
        const PriceLabel* label = scene.labels().ofNode(scene.nodes().slotOf(job.there));
        QVERIFY(label && !label->remark.text().contains(QLatin1String("GbE")));
        // The memory of each rank's device.
        window.bottom().showPage(QStringLiteral("memory"));
        QStringList devices;
        for (const MemoryBars::Row& row : find<MemoryBars>(window, "memoryBars")->rows())
            if (row.planned > 0) devices << QString::fromStdString(row.device.toString());
        QVERIFY2(devices.contains(QStringLiteral("rank1/cuda:0")),
                 qPrintable(devices.join(QLatin1Char(','))));
    }

    /// Rank 1 simulates its GPU: its clock is not that of rank 0, which measures.
    void clocksThatCannotBeComparedAreSaid() {
        OpenedTrace trace(3);
        QVERIFY(trace.isOpen);
        WindowHand& hand = trace.hand;
        MainWindow& window = *hand.window;
        auto& timeline = *window.findChild<TimelinePanel*>();
        const QString said = timeline.accessibleDescription();
        QVERIFY2(said.startsWith(QLatin1String("Ranks with a simulated device have a clock of their own")),
                 qPrintable(said));
        QVERIFY(!said.contains(QLatin1String("ritical path")));
        for (std::uint32_t record = 0; record < timeline.model().records().size(); ++record)
            QVERIFY(!timeline.tipAt(timeline.rectOf(record).center()).contains(QLatin1String("critical")));
        // The offscreen platform does not reactivate a window when its dialog closes.
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        hand.key(Qt::Key_R, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        const auto& table = *find<QTableView>(window, "ranksTable");
        QVERIFY(table.isVisible());
        QStringList shown;
        for (int column = 0; column < RanksModel::ColumnCount; ++column)
            if (!table.isColumnHidden(column))
                shown << table.model()->headerData(column, Qt::Horizontal).toString() + QLatin1Char(' ') +
                             table.model()->index(1, column).data().toString();
        QCOMPARE(shown,
                 (QStringList{QStringLiteral("rank rank 1"), QStringLiteral("time per iteration 0.005 ms"),
                              QStringLiteral("samples/s 20"), QStringLiteral(" modelled")}));
    }

    /// The names of all tracks, and whether their times are measured, have room before the bars.
    void theNamesOfTracksHaveRoom() {
        OpenedTrace trace(1);
        QVERIFY(trace.isOpen);
        auto& timeline = *trace.hand.window->findChild<TimelinePanel*>();
        const QFontMetricsF metrics(twb::font(TextRole::small));
        double widest = 0;
        for (const std::uint32_t stream : timeline.model().streams())
            widest = std::max(widest,
                              metrics.horizontalAdvance(toQt(timeline.model().plan().streams[stream].label)));
        QVERIFY(widest > 120);
        double left = timeline.width();
        for (std::uint32_t record = 0; record < timeline.model().records().size(); ++record)
            left = std::min(left, timeline.rectOf(record).left());
        QVERIFY2(left >= 28 + widest, qPrintable(QStringLiteral("%1 < %2").arg(left).arg(28 + widest)));
    }

    /// The plot kept the empty series of figures that were replaced.
    void thePlotOfTransfersHasTheTrace() {
        const Job job;
        const QTemporaryDir folder;
        const QString path = job.write(folder);
        WindowHand hand(job.maker.graph());
        hand.window->bottom().showPage(QStringLiteral("transfers"));
        const FileAnswer file(QString(), path);
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(file.answered());
        hand.window->bottom().showPage(QStringLiteral("transfers"));
        const TransferPlot& plot = *find<TransferPlot>(*hand.window, "transferPlot");
        QVERIFY(plot.pixelOf(0, 1));
    }

    void theSlowestRankIsMarked() {
        const Job job;
        const QTemporaryDir folder;
        const QString path = job.write(folder);
        WindowHand hand(job.maker.graph());
        hand.key(Qt::Key_R, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        // Without ranks, the panel says where they come from, and its button has the focus.
        auto* open = find<QPushButton>(*hand.window, "openRanksTrace");
        QVERIFY(open->isVisible());
        QCOMPARE(QApplication::focusWidget(), open);
        FileAnswer file(QString(), path);
        QTest::keyClick(open, Qt::Key_Space);
        QVERIFY(file.answered());
        const auto& table = *find<QTableView>(*hand.window, "ranksTable");
        QVERIFY(table.isVisible());
        const QAbstractItemModel& model = *table.model();
        QStringList rows;
        for (int row = 0; row < model.rowCount(); ++row) {
            QStringList cells;
            for (int column = 0; column < model.columnCount(); ++column)
                if (!table.isColumnHidden(column)) cells << model.index(row, column).data().toString();
            rows << cells.join(QLatin1Char('|'));
        }
        QCOMPARE(rows, (QStringList{QStringLiteral("rank 0|0.005 ms|0.003 ms|0.002 ms|20||"),
                                    QStringLiteral("rank 1|0.005 ms|0.005 ms|0 ms|20||slowest")}));
        // The bar has a text for screen readers.
        QCOMPARE(model.index(0, RanksModel::ShareColumn).data(Qt::AccessibleTextRole).toString(),
                 QStringLiteral("own time 0.003 ms, waiting 0.002 ms"));
        // The table as text.
        QWidget* copy = hand.window->findChild<RanksPanel*>()->controls();
        QTRY_VERIFY(copy->width() > 0); // it has its place beside the tabs
        QTest::mouseClick(copy, Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(),
                 QStringLiteral("rank\ttime per iteration\town time\twaiting for others\tsamples/s\t\n"
                                "rank 0\t0.005 ms\t0.003 ms\t0.002 ms\t20\t\n"
                                "rank 1\t0.005 ms\t0.005 ms\t0 ms\t20\tslowest\n"));
        // The next run is a run of one rank.
        QTest::mouseClick(find<QPushButton>(*hand.window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(!table.isVisible());
    }

    /// As of `twb train --trace`: the steps, and a validation by a plan of its own.
    void theCardsHaveTheTimesOfTheFirstPlan() {
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
        const NodeId work = maker.node("Neg", "work", "cpu", {}, {x});
        maker.node("Probe", "seen", "cpu", {}, {work});
        const DeviceMap devices;
        const auto steps = compile(maker.graph(), analyze(maker.graph(), devices, Policy::strict, nullptr),
                                   devices, nullptr, {.fuse = false});
        const auto validation = std::make_shared<Plan>(*steps);
        for (Step& step : validation->steps) step.predictedNs += 1; // another plan
        TraceRecorder recorder(steps);
        for (std::int64_t run = 0; run < 3; ++run) {
            const bool isStep = run != 1;
            recorder.nextRun(isStep ? steps : validation, isStep ? "batch" : "validation", run * 10'000);
            for (const Step& step : steps->steps)
                if (step.node == work)
                    recorder.add(std::vector{
                        StepRecord{step.index, 0, StepState::done, 0, isStep ? 1000 : 7000, {}, 0}});
        }
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("t.json"));
        std::ostringstream text;
        recorder.write(text);
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(text.str()));
        file.close();
        WindowHand hand(maker.graph());
        FileAnswer answer(QString(), path);
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(answer.answered());
        RunController& runs = hand.window->runs();
        QCOMPARE(find<QLabel>(*hand.window, "status")->text(), QStringLiteral("Trace t.json: 3 iterations"));
        QVERIFY(!runs.state().stale);
        QCOMPARE(runs.state().nodes.at(work).ns, 1000.0);
        const auto& timeline = *hand.window->findChild<TimelinePanel*>();
        QCOMPARE(timeline.model().streams().size(), std::size_t(1));
        QCOMPARE(timeline.model().records().size(), std::size_t(3));
    }

    void aTraceOfAnotherGraphIsOutOfDate() {
        const Job job;
        const QTemporaryDir folder;
        const QString path = job.write(folder);
        GraphMaker other;
        other.node("Probe", "seen", "cpu", {}, {other.node("Zeros", "zeros", "cpu")});
        WindowHand hand(other.graph());
        FileAnswer file(QString(), path);
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(file.answered());
        const RunController& runs = hand.window->runs();
        QVERIFY(runs.state().stale);
        QCOMPARE(find<QLabel>(*hand.window, "status")->text(),
                 QStringLiteral("t.json was recorded from another graph. Open that project first, then the "
                                "trace."));
        // Its node ids coincide with those of this graph, but its times belong to no card and no edge.
        for (const auto& [id, run] : runs.state().nodes) QVERIFY(run.ns == 0);
        for (const auto& [edge, run] : runs.state().edges)
            QVERIFY(run.predicted || !hand.graph().find(edge.to.node));
        TimelinePanel& timeline = *find<TimelinePanel>(*hand.window, "timeline");
        QVERIFY(!timeline.model().empty());
        const auto last = std::uint32_t(timeline.model().records().size() - 1);
        QTest::mouseClick(&timeline, Qt::LeftButton, {}, timeline.rectOf(last).center().toPoint());
        QVERIFY(hand.document.selection().empty());
        hand.window->bottom().showPage(QStringLiteral("transfers")); // its rows have names only
        QVERIFY(hand.window->findChild<LedgerModel*>()->rowCount() > 0);
    }

    void anotherFileIsRefused() {
        const Job job;
        WindowHand hand(job.maker.graph());
        BoxAnswer box(QMessageBox::Ok);
        FileAnswer file(QString(), sourcePath("resources/schema/report.schema.json"));
        hand.key(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(file.answered() && box.answered());
        QCOMPARE(box.text(), QStringLiteral("Cannot open the trace"));
        QVERIFY2(box.detail().contains(QStringLiteral("report.schema.json")), qPrintable(box.detail()));
        QVERIFY(!hand.window->runs().figures());
    }
};

TWB_GUI_TEST_MAIN(TestRunTraceShown)
#include "test_run_trace_shown.moc"
