#include "support/test_main.h"
#include "widgets/program_watch.h"
#include "widgets/window_hand.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QLabel>
#include <QListWidget>
#include <QLocalServer>
#include <QLocalSocket>
#include <QSignalSpy>

#include <memory>
#include <optional>

using namespace twb;
using namespace twb::test;

namespace {

/// A program that is watched: listens where the Python package does, and sends the given lines.
class Program {
public:
    explicit Program(const QTemporaryDir& runtime) {
        qputenv("XDG_RUNTIME_DIR", runtime.path().toLocal8Bit());
        QDir().mkpath(watchFolder());
        m_path = QDir(watchFolder())
                     .filePath(QStringLiteral("watch-%1.sock").arg(QCoreApplication::applicationPid()));
        QLocalServer::removeServer(m_path);
        if (!m_server.listen(m_path)) qCritical("%s", qPrintable(m_server.errorString()));
    }
    bool hasWindow() {
        if (!m_window) m_window.reset(m_server.nextPendingConnection());
        return m_window && m_window->state() == QLocalSocket::ConnectedState;
    }
    bool hasLostWindow() const { return m_window && m_window->state() == QLocalSocket::UnconnectedState; }
    void send(const QByteArray& lines) {
        m_window->write(lines);
        m_window->flush();
    }
    void header(int step = 0) {
        send(R"({"format":"tensor-workbench-watch","version":1,"pid":7,"torch":"2.9.0",)"
             R"("script":"/a/train.py","gpus":[],"at":10,"step":)" +
             QByteArray::number(step) + "}\n");
    }
    void site(int id, const char* from, const char* to, int line) {
        send(QByteArrayLiteral("{\"kind\":\"site\",\"id\":") + QByteArray::number(id) +
             ",\"cause\":\"to\",\"from\":\"" + from + "\",\"to\":\"" + to +
             "\",\"file\":\"/a/train.py\",\"line\":" + QByteArray::number(line) +
             ",\"function\":\"main\"}\n");
    }
    void copy(int site, int step, int bytes, qint64 at) {
        send(QByteArrayLiteral("{\"kind\":\"transfer\",\"site\":") + QByteArray::number(site) +
             ",\"step\":" + QByteArray::number(step) + ",\"bytes\":" + QByteArray::number(bytes) +
             ",\"at\":" + QByteArray::number(at) + ",\"ns\":5000}\n");
    }
    void step(int number, qint64 at) {
        send(QByteArrayLiteral("{\"kind\":\"step\",\"step\":") + QByteArray::number(number) +
             ",\"ns\":1000,\"at\":" + QByteArray::number(at) + "}\n");
    }
    void close() { m_window->disconnectFromServer(); }
    QString path() const { return m_path; }

private:
    QString m_path;
    QLocalServer m_server;
    std::unique_ptr<QLocalSocket> m_window;
};

/// Chooses Run, Watch a process… and the first program of the list.
void watchFirst(MainWindow& window) {
    QTimer::singleShot(0, qApp, [] {
        auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
        QVERIFY(dialog);
        auto* list = find<QListWidget>(*dialog, "programs");
        QCOMPARE(list->count(), 1);
        QVERIFY(list->item(0)->text().contains(QString::number(QCoreApplication::applicationPid())));
        QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok),
                          Qt::LeftButton);
    });
    action(window, QStringLiteral("Watch a process…"))->trigger();
}

} // namespace

class TestProgramWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void transfersAreShownAsTheyHappen() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        RunController& runs = window->runs();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        program.site(1, "cpu", "cuda:0", 20);
        program.copy(1, 0, 4096, 100);
        program.step(0, 200);
        QTRY_COMPARE(runs.done(), std::int64_t(1));
        QVERIFY(runs.isFollowing() && runs.isRunning());
        QCOMPARE(window->document().graph().nodes().size(), std::size_t(2));
        QCOMPARE(runs.figures()->ledger().rows()[0].count, std::uint64_t(1));
        // A line that is met later joins the graph, and no figure is lost.
        program.site(2, "cuda:0", "cpu", 25);
        program.copy(1, 1, 4096, 300);
        program.copy(2, 1, 4, 400);
        program.step(1, 500);
        QTRY_COMPARE(runs.done(), std::int64_t(2));
        QCOMPARE(window->document().graph().nodes().size(), std::size_t(4));
        const std::vector<LedgerRow>& rows = runs.figures()->ledger().rows();
        QCOMPARE(rows[0].count, std::uint64_t(2));
        QCOMPARE(rows[0].totalNs, std::int64_t(10000));
        QCOMPARE(rows[1].bytes, std::uint64_t(4));
        QVERIFY(runs.sentence().contains(QStringLiteral("train.py")));
        QCOMPARE(window->findChild<QLabel*>(QStringLiteral("status"))->text(), runs.sentence());
        QVERIFY(runs.sentence().contains(QStringLiteral("step 2")));
        const Node* to = window->document().graph().findByName("to train.py:20");
        QVERIFY(to);
        const Edge edge{*window->document().graph().sourceOf({to->id, 0}), {to->id, 0}};
        QCOMPARE(runs.state().edges.at(edge).ns, 5000.0);
        QVERIFY(!runs.state().edges.at(edge).modelled && !runs.state().stale);
        // The program ends; its figures stay.
        program.send("{\"kind\":\"end\",\"step\":2,\"at\":600}\n");
        QTRY_VERIFY(!runs.isRunning());
        QCOMPARE(runs.sentence(), QStringLiteral("train.py ended after 2 steps"));
        QCOMPARE(runs.figures()->ledger().rows()[0].count, std::uint64_t(2));
        QCOMPARE(runs.result()->iterations, std::int64_t(2));
        QVERIFY(runs.report().plan);
    }

    void iterationsCountFromTheStepAtWhichTheWatchBegan() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        RunController& runs = window->runs();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header(1000);
        QTRY_VERIFY(runs.isFollowing());
        QCOMPARE(runs.done(), std::int64_t(0));
        program.site(1, "cpu", "cuda:0", 20);
        program.copy(1, 1000, 4096, 100);
        program.step(1000, 200);
        QTRY_COMPARE(runs.done(), std::int64_t(1));
        QVERIFY2(runs.sentence().contains(QStringLiteral("step 1,001")), qPrintable(runs.sentence()));
        program.send("{\"kind\":\"end\",\"step\":1001,\"at\":600}\n");
        QTRY_VERIFY(!runs.isRunning());
        QCOMPARE(runs.result()->iterations, std::int64_t(1));
    }

    void theViewFitsTheLinesAsTheyAreMet() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        QTRY_VERIFY(window->runs().isFollowing());
        for (int line = 1; line <= 40; ++line) {
            program.site(line, "cpu", "cuda:0", line);
            program.copy(line, 0, 4096, 100 * line);
        }
        QTRY_COMPARE(window->document().graph().nodes().size(), std::size_t(80));
        const CanvasWidget& canvas = window->canvas();
        QVERIFY(canvas.view().viewport().contains(canvas.scene().shownExtent()));
    }

    void nothingIsUpdatedWhileNothingArrives() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        program.step(0, 100);
        QTRY_COMPARE(window->runs().done(), std::int64_t(1));
        const QSignalSpy frames(&window->runs(), &RunController::frame);
        QTimer ticks; // as slow as the socket's own
        const QSignalSpy ticked(&ticks, &QTimer::timeout);
        ticks.start(40);
        QTRY_VERIFY(ticked.count() >= 4);
        QCOMPARE(frames.count(), 0);
    }

    void stopLeavesTheProgramRunning() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        program.site(1, "cpu", "cuda:0", 20);
        program.copy(1, 0, 8, 100);
        QTRY_VERIFY(window->runs().isFollowing());
        action(*window, QStringLiteral("Stop"))->trigger();
        QVERIFY(!window->runs().isRunning());
        QTRY_VERIFY(program.hasLostWindow());
    }

    void aKilledProgramIsNoticed() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        program.step(0, 100);
        QTRY_COMPARE(window->runs().done(), std::int64_t(1));
        program.close();
        QTRY_VERIFY(!window->runs().isRunning());
        QVERIFY(window->runs().sentence().contains(QStringLiteral("closed its connection after 1 step")));
    }

    void nonsenseEndsTheWatchWithASentence() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        QTRY_VERIFY(window->runs().isFollowing());
        BoxAnswer answer(QMessageBox::Ok);
        program.send("nonsense\n");
        QTRY_VERIFY(answer.answered());
        QVERIFY2(answer.detail().contains(QStringLiteral("not understood")), qPrintable(answer.detail()));
        QVERIFY(!window->runs().isRunning());
    }

    void openingAGraphEndsTheWatch() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        program.header();
        QTRY_VERIFY(window->runs().isFollowing());
        window->load(sourcePath(kDigits));
        QVERIFY(!window->runs().isRunning());
        QTRY_VERIFY(program.hasLostWindow());
        QVERIFY(!window->runs().figures());
    }

    /// The program's graph replaced a graph that was opened or edited meanwhile.
    void aLateAnswerLeavesTheGraph() {
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        window->load(sourcePath(kDigits));
        const Graph before = window->document().graph();
        const BoxAnswer answer(QMessageBox::Ok);
        program.header();
        QTRY_VERIFY(answer.answered());
        QVERIFY2(answer.detail().contains(QStringLiteral("train.py")), qPrintable(answer.detail()));
        QVERIFY(window->document().graph() == before);
        QVERIFY(!window->runs().isRunning());
        QTRY_VERIFY(program.hasLostWindow());
    }

    /// A watch that was not shown yet ended the following of a run on another machine.
    void aLateAnswerLeavesTheRun_data() {
        QTest::addColumn<bool>("answers");
        QTest::newRow("answers") << true;
        QTest::newRow("closes its connection") << false;
    }
    void aLateAnswerLeavesTheRun() {
        QFETCH(bool, answers);
        const QTemporaryDir runtime;
        Program program(runtime);
        const auto window = makeWindow();
        watchFirst(*window);
        QTRY_VERIFY(program.hasWindow());
        RunController& runs = window->runs();
        runs.awaitRun(QStringLiteral("host"), QStringLiteral("Copying"), 3);
        std::optional<BoxAnswer> answer;
        if (answers) {
            answer.emplace(QMessageBox::Ok);
            program.header();
            QTRY_VERIFY(answer->answered());
            QTRY_VERIFY(program.hasLostWindow());
        } else {
            program.close();
            QTest::qWait(200); // time for a watch that looks at its socket every 33 ms
        }
        QVERIFY(runs.isRunning() && runs.isAwaiting());
        QCOMPARE(runs.sentence(), QStringLiteral("Copying"));
        runs.endFollowing({}, {});
    }

    void deadSocketsAreNotListed() {
        const QTemporaryDir runtime;
        Program program(runtime);
        QFile::link(program.path(), QDir(watchFolder()).filePath(QStringLiteral("watch-4194305.sock")));
        QFile(QDir(watchFolder()).filePath(QStringLiteral("watch-x.sock"))).open(QIODevice::WriteOnly);
        const std::vector<WatchableProgram> found = watchablePrograms();
        QCOMPARE(found.size(), std::size_t(1));
        QCOMPARE(found[0].process, QCoreApplication::applicationPid());
        QVERIFY(!found[0].commandLine.isEmpty());
    }
};

TWB_GUI_TEST_MAIN(TestProgramWatch)
#include "test_program_watch.moc"
