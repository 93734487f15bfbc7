#include "app/program.h"
#include "support/remote_host.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/settings.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>

using namespace twb;
using namespace twb::test;

namespace {

/// Types into the dialog of Run, Run on another machine….
void fillIn(QDialog& dialog, const QString& machine, const QString& program) {
    const auto type = [](QLineEdit& edit, const QString& text) {
        edit.setFocus();
        QTest::keySequence(&edit, QKeySequence::SelectAll);
        QTest::keyClick(&edit, Qt::Key_Delete);
        QTest::keyClicks(&edit, text);
    };
    type(*find<QComboBox>(dialog, "machine")->lineEdit(), machine);
    type(*find<QLineEdit>(dialog, "program"), program);
}

} // namespace

/// Runs on another machine, from the window: by a stand-in for ssh and, where there is an sshd, by the real
/// one.
class TestRunThere : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<RemoteHost> m_host;

    void hosts() {
        QTest::addColumn<bool>("real");
        QTest::newRow("stand-in") << false;
        QTest::newRow("sshd") << true;
    }
    /// False: the test is skipped.
    bool use(bool real) {
        m_host.reset();
        qunsetenv("TWB_SSH");
        if (!real) {
            m_host = std::make_unique<StandInHost>();
            return true;
        }
        auto host = std::make_unique<SshHost>();
        if (!host->isUp()) return false;
        qputenv("TWB_SSH", host->command().toUtf8());
        m_host = std::move(host);
        return true;
    }
    /// Presses Alt+F5 and answers the dialog.
    void start(MainWindow& window, const QString& machine, int iterations,
               const QString& program = Program::path()) const {
        find<QSpinBox>(window, "iterations")->setValue(iterations);
        DialogAnswer answer("runThere", QDialogButtonBox::Ok,
                            [&](QDialog& dialog) { fillIn(dialog, machine, program); });
        window.activateWindow(); // a box may have been above it
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.canvas().setFocus();
        QTest::keyClick(&window.canvas(), Qt::Key_F5, Qt::AltModifier);
        QVERIFY(answer.answered());
    }
    void start(MainWindow& window, int iterations) const { start(window, m_host->place(), iterations); }
    static QString status(MainWindow& window) { return find<QLabel>(window, "status")->text(); }
    static std::unique_ptr<MainWindow> windowWith(const GraphMaker& maker, const QString& folder = {}) {
        auto window = makeWindow();
        window->document().setGraph(maker.graph(), {}, folder);
        return window;
    }
    /// Waits until the run there has its own process.
    bool isStarted() const {
        return QTest::qWaitFor(
            [this] {
                for (const QString& run : m_host->runs())
                    if (QFile::exists(m_host->folder() + QLatin1Char('/') + run + QStringLiteral("/pid")))
                        return true;
                return false;
            },
            30'000);
    }

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        if (QStandardPaths::findExecutable(QStringLiteral("rsync")).isEmpty()) QSKIP("no rsync");
    }
    void cleanup() { m_host.reset(); }

    void figuresArriveWhileItRuns_data() { hosts(); }
    void figuresArriveWhileItRuns() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        RunController& runs = window->runs();
        QVERIFY(window->bottom().showPage(QStringLiteral("timeline")));
        start(*window, 1500);
        QVERIFY(runs.isRunning() && runs.isFollowing());
        QVERIFY(!action(*window, QStringLiteral("Run on another machine…"))->isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(runs.done() > 0, 30'000);
        QVERIFY2(runs.isRunning() && runs.done() < 1500, "the figures came only at the end");
        QVERIFY2(status(*window).contains(QStringLiteral(" on there: ")), qPrintable(status(*window)));
        QVERIFY(waitForRun(*window));
        QCOMPARE(runs.result()->status, RunStatus::finished);
        QCOMPARE(runs.result()->iterations, std::int64_t(1500));
        QVERIFY2(status(*window).startsWith(QStringLiteral("Run 1 on there finished: 1,500 iterations in ")),
                 qPrintable(status(*window)));
        const auto& rows = runs.figures()->steps().rows();
        const auto product = runs.figures()->plan().stepsOf(window->document().graph().findByName("b")->id);
        QCOMPARE(rows[product.at(0)].count, std::uint64_t(1500));
        // The timeline says where its times come from.
        auto& timeline = *window->findChild<TimelinePanel*>();
        QVERIFY(!timeline.model().empty());
        QString tip;
        for (std::uint32_t i = 0; i < timeline.model().records().size() && tip.isEmpty(); ++i)
            tip = timeline.tipAt(timeline.rectOf(i).center());
        QVERIFY2(tip.contains(QStringLiteral("measured on there")), qPrintable(tip));
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
        start(*window, 1);
        QVERIFY(waitForRun(*window));
        QVERIFY2(window->runs().result()->status == RunStatus::finished,
                 qPrintable(window->runs().sentence()));
        QCOMPARE(window->runs().probes().at(0).value, -4.5);
        const NodeId seen = window->document().graph().findByName("seen")->id;
        QCOMPARE(window->runs().state().nodes.at(seen).value, QStringLiteral("-4.5"));
    }

    void stopEndsItThere_data() { hosts(); }
    void stopEndsItThere() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        start(*window, 1'000'000);
        QTRY_VERIFY_WITH_TIMEOUT(window->runs().done() > 0, 30'000);
        QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::cancelled);
        QVERIFY2(status(*window).startsWith(QStringLiteral("Run 1 on there cancelled after ")),
                 qPrintable(status(*window)));
        QCOMPARE(m_host->runs(), QStringList());
    }

    void aLostConnectionNamesTheHostAndTheSameRunIsFoundAgain_data() { hosts(); }
    void aLostConnectionNamesTheHostAndTheSameRunIsFoundAgain() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        start(*window, 200);
        QTRY_VERIFY_WITH_TIMEOUT(window->runs().done() > 0, 30'000);
        BoxAnswer box(QMessageBox::Ok);
        m_host->cut();
        QTRY_VERIFY_WITH_TIMEOUT(box.answered(), 30'000);
        QCOMPARE(box.text(), QStringLiteral("Connection to there lost"));
        QVERIFY2(box.detail().contains(QStringLiteral("run the same graph on there again")),
                 qPrintable(box.detail()));
        QVERIFY(!window->runs().isRunning());
        QCOMPARE(window->runs().result()->status, RunStatus::failed);
        QCOMPARE(m_host->runs().size(), 1);
        // The same start has all figures of the run, also those of before.
        start(*window, 200);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::finished);
        const auto product =
            window->runs().figures()->plan().stepsOf(window->document().graph().findByName("b")->id);
        QCOMPARE(window->runs().figures()->steps().rows()[product.at(0)].count, std::uint64_t(200));
        QCOMPARE(m_host->runs(), QStringList());
    }

    void aClosedWindowLeavesTheRunThere() {
        QVERIFY(use(false));
        auto window = windowWith(longGraph());
        start(*window, 60);
        QVERIFY(isStarted());
        window.reset();
        const QString exit =
            m_host->folder() + QLatin1Char('/') + m_host->runs().first() + QStringLiteral("/exit");
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(exit), 60'000);
    }

    void whatIsMissingIsNamed_data() {
        QTest::addColumn<QString>("machine");
        QTest::addColumn<QString>("program");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("host") << "nobody" << QString() << "cannot reach nobody by ssh; try: ssh ";
        QTest::newRow("program") << "there"
                                 << "/nowhere/twb"
                                 << "there has no /nowhere/twb: install";
    }
    void whatIsMissingIsNamed() {
        QFETCH(const QString, machine);
        QFETCH(const QString, program);
        QFETCH(const QString, sentence);
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        BoxAnswer box(QMessageBox::Ok);
        start(*window, machine, 1, program);
        QTRY_VERIFY(box.answered());
        QCOMPARE(box.text(), QStringLiteral("Cannot run on %1").arg(machine));
        QVERIFY2(box.detail().contains(sentence), qPrintable(box.detail()));
        QVERIFY2(status(*window).contains(sentence), qPrintable(status(*window)));
        QVERIFY(!window->runs().isRunning());
    }

    void aWrongMachineIsRefused() {
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        BoxAnswer box(QMessageBox::Ok);
        start(*window, QStringLiteral("-oProxyCommand=true"), 1);
        QTRY_VERIFY(box.answered());
        QVERIFY2(box.detail().contains(QStringLiteral("write ssh:HOST")), qPrintable(box.detail()));
        QVERIFY(!window->runs().figures());
    }

    void aGraphWithErrorsIsNotCopied() {
        QVERIFY(use(false));
        const auto window = windowWith(crossingGraph(false));
        start(*window, 1);
        QVERIFY(!window->runs().isRunning());
        QVERIFY(status(*window).contains(QStringLiteral("1 problem")));
    }

    void theDeviceMenuOffersIt() {
        QVERIFY(use(false));
        const auto window = windowWith(crossingGraph());
        QMenu* menu = find<QPushButton>(*window, "device.cuda:0")->menu();
        QAction* entry = menu->actions().last();
        QCOMPARE(entry->text(), QStringLiteral("Run on another machine…"));
        DialogAnswer answer("runThere", QDialogButtonBox::Cancel);
        entry->trigger();
        QVERIFY(answer.answered());
        QVERIFY(!window->runs().isRunning());
    }
};

TWB_GUI_TEST_MAIN(TestRunThere)
#include "test_run_there.moc"
