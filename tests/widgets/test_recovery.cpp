#include "core/error.h"
#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/recovery.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QListWidget>
#include <QProcess>
#include <QRandomGenerator>
#include <QThread>

using namespace twb;
using namespace twb::test;

namespace {

Graph oneLane() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 320});
    addNode(builder, lane, "Ones", "x", 16, 16);
    graph.apply(builder.take());
    return graph;
}

QStringList kept(const QString& folder) {
    return QDir(folder).entryList({QStringLiteral("*.twb")}, QDir::Files);
}

Graph onlyOne(const QString& folder) {
    return loadProject(QDir(folder).filePath(kept(folder).front()).toStdString());
}

/// Presses a button of the next message box by its text, but only after `before` has pressed its own.
class Answer : public QObject {
public:
    explicit Answer(const char* button, const Answer* before = nullptr)
        : m_button(QString::fromLatin1(button)), m_before(before) {
        connect(&m_timer, &QTimer::timeout, this, &Answer::look);
        m_timer.start(5);
    }
    QString question() const { return m_question; }

private:
    void look() {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (!box || (m_before && m_before->question().isEmpty())) return;
        for (QAbstractButton* button : box->buttons()) {
            if (button->text().remove(QLatin1Char('&')) != m_button) continue;
            m_timer.stop();
            m_question = box->text();
            QTest::mouseClick(button, Qt::LeftButton);
            return;
        }
    }

    QString m_button;
    const Answer* m_before;
    QString m_question;
    QTimer m_timer;
};

/// Adds an op by keyboard.
void work(WindowHand& hand) {
    hand.key(Qt::Key_A, Qt::ShiftModifier);
    QWidget* field = QApplication::activePopupWidget()->focusProxy();
    QTest::keyClicks(field, QStringLiteral("relu"));
    QTest::keyClick(field, Qt::Key_Return);
}

} // namespace

class TestRecovery : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        QSettings().setValue(QStringLiteral("autosaveSeconds"), 0.05);
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void unsavedWorkIsKeptUntilItIsSaved() {
        QTemporaryDir data;
        const QString folder = data.filePath(QStringLiteral("recovery"));
        WindowHand hand(oneLane());
        QVERIFY(!hand.window->guard(folder));
        QVERIFY(!QDir(folder).exists()); // no changes yet
        work(hand);
        QVERIFY(QTest::qWaitFor([&] { return kept(folder).size() == 1; }, 5000));
        QVERIFY(onlyOne(folder) == hand.graph());
        work(hand);
        QVERIFY(QTest::qWaitFor([&] { return onlyOne(folder) == hand.graph(); }, 5000));
        QCOMPARE(kept(folder).size(), qsizetype(1));
        // Undone to the saved state, there are no changes left.
        hand.document.undoStack().setIndex(0);
        QVERIFY(QTest::qWaitFor([&] { return kept(folder).empty(); }, 5000));
        hand.document.undoStack().redo();
        QVERIFY(QTest::qWaitFor([&] { return kept(folder).size() == 1; }, 5000));
        hand.document.save(data.filePath(QStringLiteral("saved.twb")));
        QVERIFY(QTest::qWaitFor([&] { return kept(folder).empty(); }, 5000));
    }

    void aWindowThatIsClosedLeavesNothing() {
        QTemporaryDir data;
        WindowHand hand(oneLane());
        hand.window->guard(data.path());
        work(hand);
        QVERIFY(QTest::qWaitFor([&] { return kept(data.path()).size() == 1; }, 5000));
        BoxAnswer answer(QMessageBox::Discard);
        QVERIFY(hand.window->close());
        QVERIFY(answer.answered());
        QVERIFY(QDir(data.path()).isEmpty(QDir::Files | QDir::Hidden));
    }

    void leftCopyIsOfferedWithItsPath() {
        QTemporaryDir data;
        const QString path = data.filePath(QStringLiteral("mine.twb"));
        const QString folder = data.filePath(QStringLiteral("recovery"));
        Graph lost;
        {
            WindowHand hand(oneLane());
            hand.document.save(path);
            hand.window->guard(folder);
            work(hand);
            QVERIFY(QTest::qWaitFor([&] { return kept(folder).size() == 1; }, 5000));
            // While its program runs, no other program takes it.
            const auto other = makeWindow();
            QVERIFY(!other->guard(folder));
            lost = hand.graph();
            // The window is destroyed without being closed, as in a crash.
        }
        QCOMPARE(kept(folder).size(), qsizetype(1));
        {
            const auto window = makeWindow();
            Answer later("Later");
            QVERIFY(!window->guard(folder));
            QVERIFY(later.question().contains(QLatin1String("mine.twb")));
            QCOMPARE(kept(folder).size(), qsizetype(1));
        }
        const auto window = makeWindow();
        Answer restore("Restore");
        QVERIFY(window->guard(folder));
        QVERIFY(window->document().graph() == lost);
        QCOMPARE(window->document().path(), path);
        QVERIFY(window->isWindowModified());
        QVERIFY(!(loadProject(path.toStdString()) == lost)); // restored, but not saved
        window->document().save(path);
        QVERIFY(QTest::qWaitFor([&] { return kept(folder).empty(); }, 5000));
        QVERIFY(loadProject(path.toStdString()) == lost);
    }

    /// The folder of the project may be slow, so the caller decides where files are read.
    void filesAreReadWhereTheCallerWaits() {
        QTemporaryDir data;
        Graph lost;
        {
            WindowHand hand(oneLane());
            hand.window->guard(data.path());
            work(hand);
            QVERIFY(QTest::qWaitFor([&] { return kept(data.path()).size() == 1; }, 5000));
            lost = hand.graph();
        }
        Document document(profiles());
        Recovery recovery(document, data.path());
        const std::vector<Recovery::Left> left = recovery.left();
        QCOMPARE(left.size(), std::size_t(1));
        const Graph before = document.graph();
        const Recovery::Wait fails = [](const std::function<void()>&) {
            throw Error(ErrorCode::io, "the folder is gone");
        };
        QVERIFY_EXCEPTION_THROWN(recovery.restore(left.front(), fails), Error);
        QVERIFY(document.graph() == before);
        recovery.restore(left.front(), [&](const std::function<void()>& reading) {
            const std::unique_ptr<QThread> thread(QThread::create(reading));
            thread->start();
            thread->wait();
            QVERIFY(document.graph() == before);
        });
        QVERIFY(document.graph() == lost);
        QVERIFY(document.isModified());
    }

    void leftCopyIsComparedWithItsFile() {
        QTemporaryDir data;
        const QString path = data.filePath(QStringLiteral("mine.twb"));
        const QString folder = data.filePath(QStringLiteral("recovery"));
        {
            WindowHand hand(oneLane());
            hand.document.save(path);
            hand.window->guard(folder);
            work(hand);
            QVERIFY(QTest::qWaitFor([&] { return kept(folder).size() == 1; }, 5000));
        }
        const auto window = makeWindow();
        const Answer compare("Compare");
        QStringList lines;
        const DialogAnswer difference("difference", QDialogButtonBox::Close, [&](QDialog& dialog) {
            const auto* list = dialog.findChild<QListWidget*>();
            for (int i = 0; i < list->count(); ++i) lines << list->item(i)->text();
        });
        const Answer restore("Restore", &compare);
        QVERIFY(window->guard(folder)); // the question is asked again
        QVERIFY(difference.answered());
        QCOMPARE(lines.size(), qsizetype(1));
        QVERIFY2(lines.front().startsWith(QLatin1String("+ node")), qPrintable(lines.front()));
        QCOMPARE(window->document().graph().nodes().size(), std::size_t(2));
    }

    void discardedCopiesAreDeletedAndBrokenOnesReported() {
        QTemporaryDir data;
        for (const char* name : {"one.twb", "two.twb"}) {
            QFile file(data.filePath(QString::fromLatin1(name)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write("{\"format\": ");
        }
        const auto window = makeWindow();
        {
            // The first copy cannot be read, which a message says; then the second one is offered.
            Answer restore("Restore");
            Answer understood("OK");
            Answer discard("Discard", &understood);
            QVERIFY(!window->guard(data.path()));
        }
        QCOMPARE(kept(data.path()).size(), qsizetype(1));
        QVERIFY(!window->document().isModified());
    }

    /// The real program, driven by a plugin, is killed by SIGKILL at a random moment; the next start offers
    /// to restore its changes. TWB_KILLS sets the number of rounds.
    void theKilledProgramOffersItsWorkBack() {
        QTemporaryDir home;
        const QString config = home.filePath(QStringLiteral("config/tensor-workbench"));
        QVERIFY(QDir().mkpath(config));
        QFile settings(config + QStringLiteral("/tensor-workbench.conf"));
        QVERIFY(settings.open(QIODevice::WriteOnly));
        settings.write("[General]\nautosaveSeconds=0.1\n");
        settings.close();
        const QString folder =
            home.filePath(QStringLiteral("data/tensor-workbench/tensor-workbench/recovery"));

        const auto start = [&](QProcess& program, const QString& button, const QString& report) {
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert(QStringLiteral("XDG_CONFIG_HOME"), home.filePath(QStringLiteral("config")));
            environment.insert(QStringLiteral("XDG_DATA_HOME"), home.filePath(QStringLiteral("data")));
            environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
            environment.insert(QStringLiteral("QT_PLUGIN_PATH"),
                               QStringLiteral(TWB_BINARY_DIR "/tests/plugins"));
            environment.insert(QStringLiteral("QT_QPA_GENERIC_PLUGINS"),
                               QStringLiteral("busyhand:%1|%2").arg(button, report));
            program.setProcessEnvironment(environment);
            program.start(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench"), QStringList());
        };
        const auto lines = [](const QString& report) {
            QFile file(report);
            return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'))
                                                  : QStringList();
        };

        const int rounds = numberFrom("TWB_KILLS", 8);
        std::size_t before = 0;
        for (int round = 0; round < rounds; ++round) {
            const QString report = home.filePath(QStringLiteral("report%1").arg(round));
            QProcess program;
            start(program, QStringLiteral("Restore"), report);
            const bool worked = QTest::qWaitFor(
                [&] { return lines(report).count(QStringLiteral("edited")) >= 2 && !kept(folder).empty(); },
                60'000);
            QVERIFY2(worked, program.readAllStandardError().constData());
            QTest::qWait(int(QRandomGenerator::global()->bounded(500)));
            program.kill();
            QVERIFY(program.waitForFinished());
            const bool wasOffered = lines(report).front().startsWith(QLatin1String("offered: Restore"));
            QCOMPARE(wasOffered, round > 0);
            QCOMPARE(kept(folder).size(), qsizetype(1));
            const Graph found = onlyOne(folder); // complete, whenever the program was killed
            QVERIFY(found.nodes().size() >= std::max<std::size_t>(before, 1));
            before = found.nodes().size();
        }
        QProcess program;
        const QString report = home.filePath(QStringLiteral("report"));
        start(program, QStringLiteral("Discard"), report);
        QVERIFY(program.waitForFinished(60'000));
        QCOMPARE(program.exitCode(), 0);
        QVERIFY(lines(report).front().startsWith(QLatin1String("offered: ")));
        QVERIFY(QDir(folder).isEmpty(QDir::Files | QDir::Hidden));
    }
};

TWB_GUI_TEST_MAIN(TestRecovery)
#include "test_recovery.moc"
