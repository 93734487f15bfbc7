#include "support/test_main.h"
#include "widgets/canvas/canvas_tooltip.h"
#include "widgets/canvas/heat.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/ranks_panel.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/run_there_hand.h"
#include "widgets/settings.h"

#include <QMenu>
#include <QScopeGuard>
#include <QTableView>

using namespace twb;
using namespace twb::test;

namespace {

/// Run ▸ Ranks, by its keys.
void showRanks(MainWindow& window) {
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    window.canvas().setFocus();
    QTest::keyClick(&window.canvas(), Qt::Key_R, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY(find<QTableView>(window, "ranksTable")->isVisible());
}

/// A column of the visible table of ranks.
QStringList ranksShown(MainWindow& window, RanksModel::Column column) {
    const QAbstractItemModel& model = *find<QTableView>(window, "ranksTable")->model();
    QStringList out;
    for (int row = 0; row < model.rowCount(); ++row) out << model.index(row, column).data().toString();
    return out;
}

} // namespace

class TestRunThere : public RunThereHand {
    Q_OBJECT

private:
    /// Presses Alt+F5, then Calibrate.
    static void calibrate(MainWindow& window, const QString& machine, const QString& program) {
        QTimer presser;
        connect(&presser, &QTimer::timeout, &window, [&] {
            auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
            if (!dialog || dialog->objectName() != QLatin1String("runThere")) return;
            presser.stop();
            fillIn(*dialog, machine, program);
            QTest::mouseClick(find<QPushButton>(*dialog, "calibrate"), Qt::LeftButton);
        });
        presser.start(5);
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.canvas().setFocus();
        QTest::keyClick(&window.canvas(), Qt::Key_F5, Qt::AltModifier);
    }

private Q_SLOTS:
    void initTestCase() { begin(); }
    void cleanup() { m_host.reset(); }

    void figuresArriveWhileItRuns_data() { hosts(); }
    void figuresArriveWhileItRuns() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        RunController& runs = window->runs();
        QVERIFY(window->bottom().showPage(QStringLiteral("timeline")));
        start(*window, 500);
        QVERIFY(runs.isRunning() && runs.isFollowing());
        QVERIFY(!action(*window, QStringLiteral("Run on another machine…"))->isEnabled());
        QTRY_VERIFY(runs.done() > 0);
        QVERIFY2(runs.isRunning() && runs.done() < 500, "the figures came only at the end");
        QVERIFY2(status(*window).contains(QStringLiteral(" on there: ")), qPrintable(status(*window)));
        QVERIFY(waitForRun(*window));
        QCOMPARE(runs.result()->status, RunStatus::finished);
        QCOMPARE(runs.result()->iterations, std::int64_t(500));
        QVERIFY2(status(*window).startsWith(QStringLiteral("Run 1 on there finished: 500 iterations in ")),
                 qPrintable(status(*window)));
        const auto& rows = runs.figures()->steps().rows();
        const auto product = runs.figures()->plan().stepsOf(window->document().graph().findByName("b")->id);
        QCOMPARE(rows[product.at(0)].count, std::uint64_t(500));
        // The timeline says where its times come from.
        auto& timeline = *window->findChild<TimelinePanel*>();
        QVERIFY(!timeline.model().empty());
        QString tip;
        for (std::uint32_t i = 0; i < timeline.model().records().size() && tip.isEmpty(); ++i)
            tip = timeline.tipAt(timeline.rectOf(i).center());
        QVERIFY2(tip.contains(QStringLiteral("measured on there")), qPrintable(tip));
        // So do the cards' tooltips, the shades and the canvas for screen readers.
        const CanvasWidget& canvas = window->canvas();
        Hit hit;
        hit.kind = Hit::Kind::node;
        hit.node = window->document().graph().findByName("b")->id;
        const QString card = tooltipFor(hit, window->document(), canvas.scene(), &runs.state());
        QVERIFY2(card.contains(QStringLiteral("(measured on there)")), qPrintable(card));
        QCOMPARE(heatKind(heatOf(canvas.scene(), window->document().analysis(), &runs.state(), HeatBy::time)),
                 QStringLiteral("measured on there"));
        QCOMPARE(runs.report().host, std::string("there"));
        QCOMPARE(settings::machines().first(), m_host->place());
        QCOMPARE(m_host->runs(), QStringList());
        // A run here is a run of this machine again.
        QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(*window));
        QCOMPARE(runs.measuredText(), QStringLiteral("measured"));
    }

    void theLedgerIsExactAndModelledTimesStayModelled() {
        QVERIFY(use(false));
        const auto window = windowWith(crossingGraph());
        RunController& runs = window->runs();
        start(*window, 400);
        QVERIFY(waitForRun(*window));
        QVERIFY2(runs.result()->status == RunStatus::finished, qPrintable(runs.sentence()));
        const Plan& plan = runs.figures()->plan();
        const std::vector<LedgerRow>& rows = runs.figures()->ledger().rows();
        QCOMPARE(rows.size(), std::size_t(2));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::uint64_t count = plan.transfers[i].setup ? 1 : 400;
            QCOMPARE(rows[i].count, count);
            QCOMPARE(rows[i].bytes, count * 16);
            QVERIFY(plan.transfers[i].modelled);
        }
        QCOMPARE(runs.probes().size(), std::size_t(1));
        auto& ledger = *window->findChild<LedgerModel*>();
        QCOMPARE(ledger.index(0, LedgerModel::TimesColumn).data().toString(), QStringLiteral("modelled"));
    }

    void unsavedEditsAndDataFilesAreCopied() {
        QVERIFY(use(false));
        const Program files;
        QDir(files.file(QString())).mkpath(QStringLiteral("deep"));
        files.saveTensor<float>(QStringLiteral("deep/data.npy"), Shape{}, {4.5F});
        GraphMaker maker;
        const NodeId data = maker.node("File", "data", "cpu", {{"path", std::string("deep/data.npy")}});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("Neg", "minus", "cpu", {}, {data})});
        const auto window = windowWith(maker, files.file(QString()));
        window->runs().setAllowsTf32(true);
        const auto log = logOf(*window);
        start(*window, 1);
        QVERIFY(waitForRun(*window));
        QVERIFY2(window->runs().result()->status == RunStatus::finished,
                 qPrintable(window->runs().sentence()));
        QCOMPARE(window->runs().probes().at(0).value, -4.5);
        const NodeId seen = window->document().graph().findByName("seen")->id;
        QCOMPARE(window->runs().state().nodes.at(seen).value, QStringLiteral("-4.5"));
        // The log has what it has after a run of this machine.
        QVERIFY(log->contains(QStringLiteral("seen = -4.5")));
        QVERIFY(log->join(QLatin1Char('\n')).contains(QStringLiteral("TF32 allowed")));
    }

    void thePaceOfSeveralRanksIsListed() {
        if (QStandardPaths::findExecutable(QStringLiteral("mpirun")).isEmpty()) QSKIP("no mpirun");
        for (const char* allow : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
            qputenv(allow, "1");
        QVERIFY(use(false));
        GraphMaker maker;
        const NodeId x =
            maker.node("Full", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}, {"value", 1.5}});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("AllReduce", "sum", "cpu", {}, {x})});
        const auto window = windowWith(maker);
        {
            find<QSpinBox>(*window, "iterations")->setValue(20);
            DialogAnswer answer("runThere", QDialogButtonBox::Ok, [&](QDialog& dialog) {
                fillIn(dialog, m_host->place(), Program::path());
                find<QSpinBox>(dialog, "ranks")->setValue(2);
            });
            QTest::keyClick(&window->canvas(), Qt::Key_F5, Qt::AltModifier);
            QVERIFY(answer.answered());
        }
        QVERIFY(waitForRun(*window));
        const RunController& runs = window->runs();
        QVERIFY2(runs.result()->status == RunStatus::finished, qPrintable(runs.sentence()));
        QCOMPARE(runs.ranks().size(), std::size_t(2));
        showRanks(*window);
        QCOMPARE(ranksShown(*window, RanksModel::StateColumn).count(QStringLiteral("slowest")), 1);
        // A run here has one rank again.
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(runs.ranks().empty());
    }

    void theRanksOfARunAreShownWhileItGoesOn() {
        if (QStandardPaths::findExecutable(QStringLiteral("mpirun")).isEmpty()) QSKIP("no mpirun");
        for (const char* allow : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
            qputenv(allow, "1");
        QVERIFY(use(false));
        GraphMaker maker = longGraph();
        maker.node("AllReduce", "sum", "cpu", {}, {maker.graph().findByName("b")->id});
        const auto window = windowWith(maker);
        {
            find<QSpinBox>(*window, "iterations")->setValue(1'000'000);
            DialogAnswer answer("runThere", QDialogButtonBox::Ok, [&](QDialog& dialog) {
                fillIn(dialog, m_host->place(), Program::path());
                find<QSpinBox>(dialog, "ranks")->setValue(2);
            });
            QTest::keyClick(&window->canvas(), Qt::Key_F5, Qt::AltModifier);
            QVERIFY(answer.answered());
        }
        const RunController& runs = window->runs();
        const auto areMarked = [&] {
            return runs.ranks().size() == 2 && slowestOf(runs.ranks()) >= 0 && !runs.ranks()[0].node.empty();
        };
        QTRY_VERIFY_WITH_TIMEOUT(areMarked() || !runs.isRunning(), 120'000);
        QVERIFY2(runs.isRunning(), qPrintable(runs.sentence()));
        showRanks(*window);
        QTRY_COMPARE_WITH_TIMEOUT(
            ranksShown(*window, RanksModel::StateColumn).count(QStringLiteral("slowest")), 1, 120'000);
        for (const QString& time : ranksShown(*window, RanksModel::IterationColumn))
            QVERIFY2(time.endsWith(QStringLiteral(" ms")), qPrintable(time));
        QVERIFY(!find<QTableView>(*window, "ranksTable")->isColumnHidden(RanksModel::StepColumn));
        const auto steps = ranksShown(*window, RanksModel::StepColumn);
        QCOMPARE(steps.size(), 2);
        // The figures follow the run.
        const double before = runs.ranks()[0].pace.iterations;
        QTRY_VERIFY_WITH_TIMEOUT(runs.ranks()[0].pace.iterations > before || !runs.isRunning(), 120'000);
        QVERIFY(runs.isRunning());
        window->runs().stop();
        QTRY_VERIFY_WITH_TIMEOUT(!runs.isRunning(), 120'000);
        QVERIFY2(runs.result()->status == RunStatus::cancelled, qPrintable(runs.sentence()));
        QVERIFY2(runs.sentence().startsWith(QStringLiteral("Run 1 on there cancelled after ")),
                 qPrintable(runs.sentence()));
        QCOMPARE(ranksShown(*window, RanksModel::RankColumn).size(), 2); // as they were
        QTRY_VERIFY_WITH_TIMEOUT(m_host->processes().empty(), 60'000);
    }

    /// A program there that stands in for `twb calibrate` with the profile of a T4.
    void aProfileOfTheMachineIsKeptAndOffered() {
        QVERIFY(use(false));
        const QTemporaryDir folder;
        const QString program = folder.filePath(QStringLiteral("twb"));
        QFile script(program);
        QVERIFY(script.open(QIODevice::WriteOnly));
        script.write(QStringLiteral("#!/bin/sh\n[ \"$1\" = --version ] && exec %1 --version\n"
                                    "[ \"$*\" = 'calibrate --device auto -o profile.json' ] || exit 2\n"
                                    "cp %2 profile.json\necho a table\n")
                         .arg(Program::path(), sourcePath("resources/devices/t4.json"))
                         .toUtf8());
        script.close();
        script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        const auto restore = qScopeGuard(
            [&] { before.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", before); });
        qputenv("XDG_DATA_HOME", folder.path().toUtf8());
        const auto window = windowWith(crossingGraph());
        calibrate(*window, m_host->place(), program);
        QVERIFY2(status(*window).contains(QStringLiteral("Profile kept: NVIDIA T4 (there)")),
                 qPrintable(status(*window)));
        QVERIFY(QFile::exists(
            folder.filePath(QStringLiteral("tensor-workbench/devices/nvidia-t4-on-there-measured.json"))));
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // the button of before
        auto* button = find<QPushButton>(*window, "device.cuda:0");
        QAction* offered = nullptr;
        for (QAction* choice : button->menu()->actions())
            if (choice->text().startsWith(QStringLiteral("Simulated NVIDIA T4 (there) · "))) offered = choice;
        QVERIFY(offered && !offered->isChecked());
        offered->trigger();
        QCOMPARE(window->document().devices().find(Device::cuda(0))->info().name,
                 std::string("simulated NVIDIA T4 (there)"));
        // A machine that is not reached leaves no profile.
        BoxAnswer box(QMessageBox::Ok);
        calibrate(*window, QStringLiteral("nobody"), program);
        QTRY_VERIFY(box.answered());
        QCOMPARE(box.text(), QStringLiteral("Cannot calibrate the machine"));
        QVERIFY2(box.detail().contains(QStringLiteral("cannot reach nobody by ssh")),
                 qPrintable(box.detail()));
    }

    void theDeviceMenuOffersIt() {
        QVERIFY(use(false));
        const auto window = windowWith(crossingGraph());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // the button of the first graph
        QMenu* menu = find<QPushButton>(*window, "device.cuda:0")->menu();
        QAction* entry = menu->actions().last();
        QCOMPARE(entry->text(), QStringLiteral("Run on another machine…"));
        DialogAnswer answer("runThere", QDialogButtonBox::Cancel);
        menu->popup(QPoint(10, 10));
        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
        QVERIFY(answer.answered());
        QVERIFY(!window->runs().isRunning());
        // During a run it says why there is no dialog.
        window->runs().runContinuously();
        BoxAnswer box(QMessageBox::Ok);
        entry->trigger();
        QTRY_VERIFY(box.answered());
        QVERIFY2(box.detail().contains(QStringLiteral("Stop run 1")), qPrintable(box.detail()));
        window->runs().stop();
        QVERIFY(waitForRun(*window));
    }
};

TWB_GUI_TEST_MAIN(TestRunThere)
#include "test_run_there.moc"
