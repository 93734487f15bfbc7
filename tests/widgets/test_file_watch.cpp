#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/file_watch.h"
#include "widgets/graph_difference.h"
#include "widgets/notice_bar.h"
#include "widgets/window_hand.h"

#include <QListWidget>
#include <QProgressDialog>
#include <QSignalSpy>
#include <QTimer>

#include <fmt/format.h>

using namespace twb;
using namespace twb::test;

namespace {

Graph before() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 320});
    const NodeId x = addNode(builder, lane, "Ones", "x", 16, 16);
    const NodeId clip = addNode(builder, lane, "LeakyRelu", "leaky", 240, 16, {{"alpha", 0.5}});
    builder.connect({{x, 0}, {clip, 0}});
    graph.apply(builder.take());
    return graph;
}

/// Another alpha, an additional node, a missing edge, x moved.
Graph after() {
    Graph graph = before();
    DeltaBuilder builder(graph, "change");
    Node leaky = *graph.findByName("leaky");
    leaky.attributes.set("alpha", 0.25);
    builder.change(leaky);
    builder.disconnect({{graph.findByName("x")->id, 0}, {leaky.id, 0}});
    addNode(builder, leaky.lane, "Relu", "new", 440, 16);
    graph.apply(builder.take());
    return graph;
}

struct Opened {
    QTemporaryDir home;
    QString path = home.filePath(QStringLiteral("mine.twb"));
    WindowHand hand{Graph()};
    NoticeBar* notice;

    Opened() {
        saveProject(before(), path.toStdString());
        hand.window->load(path);
        notice = find<NoticeBar>(*hand.window, "notice");
    }
    void press(const char* button) const {
        for (QPushButton* found : notice->findChildren<QPushButton*>())
            if (found->isVisible() && found->text().remove(QLatin1Char('&')) == QLatin1String(button))
                return QTest::mouseClick(found, Qt::LeftButton);
        QFAIL(button);
    }
    /// The offscreen platform does not reactivate a window when its dialog closes.
    void activate() const {
        hand.window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
        hand.canvas.setFocus();
    }
    /// Time for a notification that must not appear.
    bool isQuiet() const {
        return !QTest::qWaitFor([&] { return notice->isVisible(); }, 600);
    }
};

} // namespace

class TestFileWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void externalChangeIsReloaded() {
        const Opened opened;
        QVERIFY(!opened.notice->isVisible());
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        QVERIFY(opened.notice->accessibleName().contains(QLatin1String("mine.twb was changed on disk")));
        QVERIFY(opened.hand.graph() == before());
        opened.press("Reload");
        QVERIFY(opened.hand.graph() == after());
        QVERIFY(!opened.hand.document.isModified());
        QVERIFY(!opened.notice->isVisible());
        // Once more, since the replacement file is watched, too.
        saveProject(before(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
    }

    void aReloadStaysInTheOpenModule() {
        const Opened opened;
        const auto framed = [](Graph graph) {
            DeltaBuilder builder(graph, "frame");
            const FrameId module = builder.addFrame({FrameId::none, "module", FrameId::none});
            Node leaky = *graph.findByName("leaky");
            leaky.frame = module;
            builder.change(leaky);
            graph.apply(builder.take());
            return graph;
        };
        saveProject(framed(before()), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        opened.press("Reload");
        const FrameId module = opened.hand.graph().frames().begin()->id;
        opened.hand.canvas.navigator().enter(module);
        saveProject(framed(after()), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        opened.press("Reload");
        QVERIFY(opened.hand.graph() == framed(after()));
        QCOMPARE(opened.hand.canvas.navigator().inside(), module);
    }

    void keptVersionCountsAsModified() {
        const Opened opened;
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        opened.press("Keep the version in this window");
        QVERIFY(!opened.notice->isVisible());
        QVERIFY(opened.hand.graph() == before());
        QVERIFY(opened.hand.window->isWindowModified());
        QVERIFY(opened.isQuiet());
    }

    /// The document counted as changed although nothing had happened to it.
    void aReloadThatIsGivenUpChangesNothing() {
        const Opened opened;
        opened.hand.window->runContinuously();
        QTRY_VERIFY(opened.hand.window->runs().done() > 0);
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        const BoxAnswer cancel(QMessageBox::Cancel);
        opened.press("Reload");
        QVERIFY(cancel.answered());
        QVERIFY(opened.hand.window->runs().isRunning());
        QVERIFY(opened.hand.graph() == before());
        QVERIFY(!opened.hand.document.isModified());
        QVERIFY(opened.notice->isVisible()); // the question stands
        opened.hand.window->runs().stop();
        QVERIFY(waitForRun(*opened.hand.window));
        opened.press("Reload");
        QVERIFY(opened.hand.graph() == after());
    }

    /// The window took no input while it read the file, and the reading could not be ended.
    void aReloadCanBeCancelled() {
        const Opened opened;
        std::string text =
            R"({"format": "tensor-workbench", "version": 1, "lanes": [{"id": 1, "device": "cpu"}],)"
            R"("nodes": [)";
        constexpr int kNodes = 300'000;
        for (int i = 1; i <= kNodes; ++i)
            text += fmt::format(R"({{"id": {}, "op": "Ones", "name": "n{}", "lane": 1}}{})", i, i,
                                i < kNodes ? ",\n" : "]}");
        writeFileAtomically(opened.path.toStdString(), text);
        QTRY_VERIFY(opened.notice->isVisible());
        bool isPressed = false;
        QTimer press;
        connect(&press, &QTimer::timeout, this, [&] {
            auto* dialog = qobject_cast<QProgressDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            QVERIFY(dialog->labelText().contains(QLatin1String("mine.twb")));
            press.stop();
            QTest::mouseClick(dialog->findChild<QPushButton*>(), Qt::LeftButton);
            isPressed = true;
        });
        press.start(5);
        opened.press("Reload");
        QVERIFY(isPressed);
        QVERIFY(opened.hand.graph() == before());
        QVERIFY(opened.notice->isVisible()); // the question stands
    }

    void versionsAreCompared() {
        const Opened opened;
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        QStringList lines;
        const DialogAnswer answer("difference", QDialogButtonBox::Close, [&](QDialog& dialog) {
            const auto* list = dialog.findChild<QListWidget*>();
            for (int i = 0; i < list->count(); ++i) lines << list->item(i)->text();
        });
        opened.press("Compare");
        QVERIFY(answer.answered());
        const QStringList wanted{QStringLiteral("~ leaky: alpha 0.5 → 0.25"),
                                 QStringLiteral("+ node new (Relu on cpu)"),
                                 QStringLiteral("− edge x → leaky")};
        QCOMPARE(lines, wanted);
        QVERIFY(opened.notice->isVisible()); // the question remains open
    }

    /// Ctrl+S replaced the other program's version, whether or not the question was visible.
    void savingOverAnotherVersionAsks() {
        Opened opened;
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        {
            const BoxAnswer cancel(QMessageBox::Cancel);
            opened.hand.key(Qt::Key_S, Qt::ControlModifier);
            QVERIFY(cancel.answered());
            QVERIFY2(cancel.text().contains(QStringLiteral("mine.twb")), qPrintable(cancel.text()));
        }
        QVERIFY(loadProject(opened.path.toStdString()) == after());
        opened.activate();
        {
            const BoxAnswer replace(QMessageBox::Save);
            opened.hand.key(Qt::Key_S, Qt::ControlModifier);
            QVERIFY(replace.answered());
        }
        QVERIFY(loadProject(opened.path.toStdString()) == before());
        QVERIFY(!opened.notice->isVisible());
        opened.activate(); // the question was answered
        opened.hand.key(Qt::Key_A, Qt::ControlModifier);
        opened.hand.key(Qt::Key_D, Qt::ControlModifier);
        opened.hand.key(Qt::Key_S, Qt::ControlModifier);
        QVERIFY(loadProject(opened.path.toStdString()) == opened.hand.graph());
    }

    void anotherNoticeWaitsForTheAnswer() {
        const Opened opened;
        const QTemporaryDir crashes;
        QFile report(crashes.filePath(QStringLiteral("crash-1.txt")));
        QVERIFY(report.open(QIODevice::WriteOnly));
        report.write("a report");
        report.close();
        saveProject(after(), opened.path.toStdString());
        QTRY_VERIFY(opened.notice->isVisible());
        opened.hand.window->offerCrashReports(crashes.path());
        QVERIFY(opened.notice->accessibleName().contains(QStringLiteral("changed on disk")));
        opened.press("Keep the version in this window");
        QVERIFY(opened.notice->isVisible());
        QVERIFY(opened.notice->accessibleName().contains(QStringLiteral("crashed")));
        QCoreApplication::processEvents(); // shows its buttons
        opened.press("Not now");
        QVERIFY(!opened.notice->isVisible());
    }

    void ownSavesAreNotReported() {
        Opened opened;
        opened.hand.key(Qt::Key_A, Qt::ControlModifier);
        opened.hand.key(Qt::Key_D, Qt::ControlModifier);
        opened.hand.key(Qt::Key_S, Qt::ControlModifier);
        QVERIFY(loadProject(opened.path.toStdString()) == opened.hand.graph());
        QVERIFY(opened.isQuiet());
        saveProject(opened.hand.graph(), opened.path.toStdString()); // the same bytes
        QVERIFY(opened.isQuiet());
    }

    void aFileThatIsGoneIsWrittenAgain() {
        const Opened opened;
        QVERIFY(QFile::remove(opened.path));
        QTRY_VERIFY(opened.notice->isVisible());
        QVERIFY(opened.notice->accessibleName().contains(QLatin1String("no longer on disk")));
        opened.press("Save");
        QVERIFY(loadProject(opened.path.toStdString()) == before());
        QVERIFY(opened.isQuiet());
    }

    /// Each change of another file in the folder put off the look at the document's file.
    void otherFilesThatChangeDoNotHideIt() {
        const Opened opened;
        const QString log = opened.home.filePath(QStringLiteral("log.txt"));
        QTimer writer;
        int written = 0;
        connect(&writer, &QTimer::timeout, this, [&] {
            QFile::remove(log);
            QFile file(log);
            QVERIFY(file.open(QIODevice::WriteOnly));
            ++written;
        });
        writer.start(20);
        QTRY_VERIFY(written > 2);
        QVERIFY(QFile::remove(opened.path));
        QTRY_VERIFY(opened.notice->isVisible());
        QVERIFY(opened.notice->accessibleName().contains(QLatin1String("no longer on disk")));
    }

    /// No notification had come yet.
    void aFileThatIsGoneAtOnceIsAskedAboutOnClose() {
        const Opened opened;
        QVERIFY(QFile::remove(opened.path));
        const BoxAnswer answer(QMessageBox::Save);
        QVERIFY(opened.hand.window->close());
        QVERIFY(answer.answered());
        QVERIFY(loadProject(opened.path.toStdString()) == before());
    }

    void aFileThatIsGoneAsItIsOpenedIsReported() {
        const Opened opened;
        Document other(opened.hand.document.sharedProfiles());
        // Before the watch, which follows the same signal.
        connect(&other, &Document::pathChanged, this, [&] { QVERIFY(QFile::remove(opened.path)); });
        const FileWatch watch(other);
        const QSignalSpy removed(&watch, &FileWatch::removed);
        other.open(opened.path);
        QTRY_COMPARE(removed.count(), 1);
    }

    /// The window closed without a question, and the graph was lost.
    void aFileThatIsGoneIsAskedAboutOnClose() {
        const Opened opened;
        QVERIFY(QFile::remove(opened.path));
        QTRY_VERIFY(opened.notice->isVisible());
        QVERIFY(opened.hand.window->isWindowModified());
        BoxAnswer answer(QMessageBox::Save);
        QVERIFY(opened.hand.window->close());
        QVERIFY(answer.answered());
        QVERIFY(loadProject(opened.path.toStdString()) == before());
    }

    void movedNodesAreOneLine() {
        Graph moved = before();
        DeltaBuilder builder(moved, "move");
        Node x = *moved.findByName("x");
        x.position.x += 80;
        builder.change(x);
        moved.apply(builder.take());
        QCOMPARE(differenceOf(before(), moved),
                 QStringList{QStringLiteral("Only positions on the canvas differ.")});
        QVERIFY(differenceOf(moved, moved).isEmpty());
    }

    void theChangedSettingsOfAGraphAreNamed() {
        Graph after = before();
        GraphInfo info = after.info();
        info.policy = Policy::implicit;
        info.iterations = 1000;
        DeltaBuilder builder(after, "change");
        builder.setInfo(info);
        Node x = *after.findByName("x");
        x.name = "y";
        builder.change(x);
        after.apply(builder.take());
        QCOMPARE(differenceOf(before(), after), (QStringList{QStringLiteral("~ y: renamed from x"),
                                                             QStringLiteral("~ policy strict → implicit"),
                                                             QStringLiteral("~ iterations 1 → 1,000")}));
    }
};

TWB_GUI_TEST_MAIN(TestFileWatch)
#include "test_file_watch.moc"
