#include "support/test_main.h"
#include "widgets/run_there_hand.h"

#include <QScopeGuard>

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

/// An ssh that connects by the one in the PATH, until it is closed. Open connections stay.
class Gate {
public:
    Gate() {
        QFile script(file("ssh"));
        if (script.open(QIODevice::WriteOnly))
            script.write(QStringLiteral("#!/bin/sh\n[ -e %1 ] && exit 255\nexec ssh \"$@\"\n")
                             .arg(file("closed"))
                             .toUtf8());
        script.close();
        script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        qputenv("TWB_SSH", file("ssh").toUtf8());
    }
    ~Gate() { qunsetenv("TWB_SSH"); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    void close() const { QDir().mkpath(file("closed")); }

private:
    QString file(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

    QTemporaryDir m_folder;
};

bool areAll(const RunResult& result, StepState state) {
    return !result.states.empty() &&
           std::all_of(result.states.begin(), result.states.end(), [&](StepState s) { return s == state; });
}

} // namespace

/// Runs on another machine that are stopped, fail, or cannot start.
class TestRunThereEnds : public RunThereHand {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { begin(); }
    void cleanup() { m_host.reset(); }

    void stopEndsItThere_data() { hosts(); }
    void stopEndsItThere() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        start(*window, 1'000'000);
        QTRY_VERIFY(window->runs().done() > 0);
        QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::cancelled);
        QVERIFY2(status(*window).startsWith(QStringLiteral("Run 1 on there cancelled after ")),
                 qPrintable(status(*window)));
        QCOMPARE(m_host->runs(), QStringList());
    }

    void stopEndsAConnectionThatDoesNotAnswer() {
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        const auto log = logOf(*window);
        start(*window, QStringLiteral("slow"), 1);
        QVERIFY(window->runs().isRunning());
        QVERIFY2(status(*window).startsWith(QStringLiteral("Copying ")), qPrintable(status(*window)));
        QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
        QTRY_VERIFY(!window->runs().isRunning());
        QVERIFY2(log->contains(QStringLiteral("Run 1 cancelled before it started")),
                 qPrintable(log->join(QLatin1Char('\n'))));
    }

    void aLostConnectionNamesTheHostAndTheSameRunIsFoundAgain_data() { hosts(); }
    void aLostConnectionNamesTheHostAndTheSameRunIsFoundAgain() {
        QFETCH(const bool, real);
        if (!use(real)) QSKIP("no sshd that can be started here");
        const auto window = windowWith(longGraph());
        start(*window, 2500);
        QTRY_VERIFY(window->runs().done() > 0);
        BoxAnswer box(QMessageBox::Ok);
        m_host->cutBesideRuns();
        QTRY_VERIFY(box.answered());
        QCOMPARE(box.text(), QStringLiteral("Connection to there lost"));
        QVERIFY2(box.detail().contains(QStringLiteral("run the unchanged graph there again")),
                 qPrintable(box.detail()));
        QVERIFY(!window->runs().isRunning());
        QCOMPARE(window->runs().result()->status, RunStatus::failed);
        QCOMPARE(m_host->runs().size(), 1);
        // The same start has all figures of the run, also those of before.
        start(*window, 2500);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::finished);
        const auto product =
            window->runs().figures()->plan().stepsOf(window->document().graph().findByName("b")->id);
        QCOMPARE(window->runs().figures()->steps().rows()[product.at(0)].count, std::uint64_t(2500));
        QCOMPARE(m_host->runs(), QStringList());
    }

    void aStopWithoutAConnectionSaysThatTheRunGoesOn() {
        QVERIFY(use(false));
        const Gate gate;
        const auto window = windowWith(longGraph());
        start(*window, 1'000'000);
        QTRY_VERIFY(window->runs().done() > 0);
        gate.close();
        BoxAnswer box(QMessageBox::Ok);
        QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
        QTRY_VERIFY(box.answered());
        QCOMPARE(box.text(), QStringLiteral("Connection to there lost"));
        QVERIFY2(box.detail().contains(QStringLiteral("The run continues on there")),
                 qPrintable(box.detail()));
        QCOMPARE(m_host->processes().size(), std::size_t(1));
    }

    /// Once, the run was shown as one that could not start.
    void aResultThatHasArrivedIsShownAlthoughTheConnectionFailsLater() {
        QVERIFY(use(false));
        const Gate gate;
        const auto window = windowWith(longGraph());
        const auto log = logOf(*window);
        start(*window, 200);
        QTRY_VERIFY(window->runs().done() > 0);
        m_host->whileRunsWait([&] { gate.close(); });
        BoxAnswer box(QMessageBox::Ok);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::finished);
        QVERIFY2(status(*window).startsWith(QStringLiteral("Run 1 on there finished: 200 iterations in ")),
                 qPrintable(status(*window)));
        const QString all = log->join(QLatin1Char('\n'));
        QVERIFY2(
            all.contains(QStringLiteral("Run 1 has ended, but its files on there may not have been deleted: "
                                        "cannot reach there by ssh")),
            qPrintable(all));
        QVERIFY(!box.answered());
    }

    void aClosedWindowLeavesTheRunThere() {
        QVERIFY(use(false));
        const auto window = windowWith(longGraph());
        start(*window, 1'000'000);
        QTRY_VERIFY(window->runs().done() > 0);
        QString detail;
        QTimer presser;
        connect(&presser, &QTimer::timeout, this, [&] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (!box) return;
            // The number of iterations is an unsaved change, so another question comes first.
            QAbstractButton* button = box->button(QMessageBox::Discard);
            if (!button) button = box->button(QMessageBox::Cancel);
            if (auto* leave = box->findChild<QPushButton*>(QStringLiteral("leaveRun"))) {
                detail = box->informativeText();
                button = leave;
            }
            QTest::mouseClick(button, Qt::LeftButton);
        });
        presser.start(5);
        QVERIFY(window->close());
        presser.stop();
        QVERIFY2(detail.contains(QStringLiteral("run the unchanged project there")), qPrintable(detail));
        QVERIFY(!window->runs().isRunning());
        QCOMPARE(window->runs().sentence(), QStringLiteral("Run 1 continues on there"));
        QCOMPARE(m_host->runs().size(), 1);
        QCOMPARE(m_host->processes().size(), std::size_t(1)); // it goes on
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

    /// Once, the results of the last run were gone before the machine was reached.
    void theLastResultsStayUntilTheRunHasStartedThere() {
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        RunController& runs = window->runs();
        find<QSpinBox>(*window, "iterations")->setValue(3);
        QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(*window));
        const RunFigures* figures = runs.figures();
        const PortRef output{window->document().graph().findByName("scaled")->id, 0};
        QVERIFY(runs.leanPlan() && runs.tensor(output));
        BoxAnswer box(QMessageBox::Ok);
        start(*window, QStringLiteral("nobody"), 3);
        QVERIFY(runs.isAwaiting());
        QCOMPARE(runs.followedHost(), QStringLiteral("nobody"));
        QTRY_VERIFY(box.answered());
        QVERIFY(!runs.isRunning());
        QVERIFY(runs.figures() == figures);
        QCOMPARE(runs.host(), QString());
        QVERIFY(runs.result() && runs.leanPlan() && runs.tensor(output));
        start(*window, 3);
        QVERIFY(waitForRun(*window));
        QCOMPARE(runs.host(), QStringLiteral("there"));
        QVERIFY(!runs.leanPlan() && !runs.tensor(output));
    }

    void stepsThatAnUnfinishedRunHasNotReportedAreNotDone() {
        const auto window = windowWith(smallGraph());
        RunController& runs = window->runs();
        runs.run(1);
        QVERIFY(waitForRun(*window));
        runs.follow(runs.figures()->sharedPlan(), QStringLiteral("followed"));
        RunResult lost;
        lost.status = RunStatus::failed;
        runs.endFollowing(lost, QStringLiteral("lost"));
        QVERIFY(areAll(*runs.result(), StepState::pending));
        runs.follow(runs.figures()->sharedPlan(), QStringLiteral("followed"));
        runs.endFollowing(RunResult(), QStringLiteral("ended"));
        QVERIFY(areAll(*runs.result(), StepState::done));
    }

    /// Once, the project was written to the current folder.
    void aMissingTemporaryFolderIsNamed() {
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        const QByteArray folder = qgetenv("TMPDIR");
        const auto restore = qScopeGuard([&] {
            if (folder.isNull())
                qunsetenv("TMPDIR");
            else
                qputenv("TMPDIR", folder);
        });
        qputenv("TMPDIR", "/proc"); // where nobody can create a folder
        BoxAnswer box(QMessageBox::Ok);
        start(*window, QStringLiteral("there"), 1);
        QTRY_VERIFY(box.answered());
        QVERIFY2(box.text().startsWith(QStringLiteral("Cannot run on there")), qPrintable(box.text()));
        QVERIFY2(box.detail().contains(QStringLiteral("temporary folder")), qPrintable(box.detail()));
        QVERIFY(!window->runs().isRunning());
    }

    void aWrongMachineIsRefused() {
        QVERIFY(use(false));
        const auto window = windowWith(smallGraph());
        BoxAnswer box(QMessageBox::Ok);
        start(*window, QStringLiteral("-oProxyCommand=true"), 1);
        QTRY_VERIFY(box.answered());
        QCOMPARE(box.text(), QStringLiteral("Cannot run on -oProxyCommand=true"));
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
};

TWB_GUI_TEST_MAIN(TestRunThereEnds)
#include "test_run_there_ends.moc"
