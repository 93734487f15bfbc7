#include "support/test_main.h"
#include "widgets/canvas/export_picture.h"
#include "widgets/dialog_answer.h"
#include "widgets/settings.h"
#include "widgets/window_hand.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPrinter>
#include <QSpinBox>
#include <QTabWidget>
#include <QTreeWidget>

using namespace twb;
using namespace twb::test;

namespace {

Graph oneNode() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 320});
    builder.addLane({LaneId::none, Device::cuda(0), "", 1, 200});
    addNode(builder, lane, "Ones", "x", 16, 16);
    graph.apply(builder.take());
    return graph;
}

/// Returns when a DialogAnswer has closed the settings.
void openSettings(WindowHand& hand) {
    hand.key(Qt::Key_Comma, Qt::ControlModifier);
    // The offscreen platform does not reactivate a window when its dialog closes.
    hand.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
    hand.canvas.setFocus();
}

/// By the keyboard.
void pick(QDialog& dialog, const char* box, const char* text) {
    auto* combo = find<QComboBox>(dialog, box);
    combo->setFocus();
    QTest::keyClick(combo, Qt::Key_Home);
    for (int i = 1; i < combo->count() && combo->currentText() != QLatin1String(text); ++i)
        QTest::keyClick(combo, Qt::Key_Down);
    QCOMPARE(combo->currentText(), QString::fromLatin1(text));
}

/// Presses `keys` as the shortcut of this action. Returns the error message if they were refused.
QString setKeys(QDialog& dialog, const char* action, const char* sequence) {
    auto* pages = dialog.findChild<QTabWidget*>();
    pages->setCurrentIndex(1);
    auto* search = find<QLineEdit>(dialog, "shortcutSearch");
    search->setFocus();
    search->selectAll();
    QTest::keyClicks(search, QString::fromLatin1(action));
    auto* list = find<QTreeWidget>(dialog, "shortcutList");
    for (int i = 0; i < list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* item = list->topLevelItem(i);
        if (item->isHidden() || item->text(0) != QLatin1String(action)) continue;
        list->scrollToItem(item);
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(item).center());
    }
    auto* keys = find<QKeySequenceEdit>(dialog, "shortcutKeys");
    keys->setFocus();
    const QKeySequence pressed(QString::fromLatin1(sequence));
    for (int i = 0; i < pressed.count(); ++i)
        QTest::keyClick(keys, pressed[uint(i)].key(), pressed[uint(i)].keyboardModifiers());
    search->setFocus(); // ends the key sequence
    for (QLabel* label : dialog.findChildren<QLabel*>())
        if (label->property("role") == QStringLiteral("error") && label->isVisible() &&
            !label->text().isEmpty())
            return label->text();
    return {};
}

} // namespace

class TestSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { isolateSettings(); }
    void init() {
        QSettings().clear();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void choicesApplyAtOnceAndAreSaved() {
        WindowHand hand(oneNode());
        const auto backend = [&] { return hand.document.devices().find(Device::cuda(0))->info().name; };
        QCOMPARE(backend(), std::string("simulated NVIDIA H200"));
        const DialogAnswer answer("settings", QDialogButtonBox::Ok, [](QDialog& dialog) {
            pick(dialog, "settingsTheme", "Light");
            pick(dialog, "settingsPolicy", "Implicit");
            pick(dialog, "settingsProfile", "NVIDIA T4");
            auto* seconds = find<QSpinBox>(dialog, "settingsAutosave");
            seconds->setFocus();
            seconds->selectAll();
            QTest::keyClicks(seconds, QStringLiteral("30"));
            auto* threads = find<QSpinBox>(dialog, "settingsThreads");
            QCOMPARE(threads->text(), QStringLiteral("All"));
            threads->setFocus();
            threads->selectAll();
            QTest::keyClicks(threads, QStringLiteral("3"));
            QTest::keyClick(find<QCheckBox>(dialog, "settingsRestore"), Qt::Key_Space);
            QTest::keyClick(find<QCheckBox>(dialog, "settingsSimplify"), Qt::Key_Space);
        });
        openSettings(hand);
        QVERIFY(answer.answered());
        QVERIFY(!Theme::current().isDark);
        QCOMPARE(backend(), std::string("simulated NVIDIA T4"));
        QCOMPARE(settings::threads(), 3);
        QCOMPARE(settings::autosaveInterval(), std::chrono::milliseconds(30'000));
        QVERIFY(!settings::restoresSession());
        QVERIFY(!settings::simplifiesImports());
        hand.key(Qt::Key_N, Qt::ControlModifier);
        QCOMPARE(hand.graph().info().policy, Policy::implicit);
        QVERIFY(!hand.document.isModified());
        const auto other = makeWindow();
        QCOMPARE(other->document().graph().info().policy, Policy::implicit);
    }

    void cancelChangesNothing() {
        WindowHand hand(oneNode());
        const DialogAnswer answer("settings", QDialogButtonBox::Cancel, [](QDialog& dialog) {
            pick(dialog, "settingsTheme", "Light");
            setKeys(dialog, "Duplicate", "Ctrl+R");
        });
        openSettings(hand);
        QVERIFY(answer.answered());
        QVERIFY(Theme::current().isDark);
        QVERIFY(QSettings().allKeys().isEmpty());
    }

    void anActionTakesOtherKeys() {
        WindowHand hand(oneNode());
        QString refusal;
        const DialogAnswer answer("settings", QDialogButtonBox::Ok, [&](QDialog& dialog) {
            refusal = setKeys(dialog, "Duplicate", "Ctrl+G");
            QCOMPARE(setKeys(dialog, "Duplicate", "Ctrl+R"), QString());
        });
        openSettings(hand);
        QVERIFY(answer.answered());
        QVERIFY2(refusal.contains(QStringLiteral("Module ▸ Make module from selection")),
                 qPrintable(refusal));
        hand.click(hand.middle(hand.node("x")->id));
        hand.key(Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(hand.undoSteps(), 0);
        hand.key(Qt::Key_R, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(2));
        // A window created later uses them, too.
        const auto other = makeWindow();
        QCOMPARE(action(*other, QStringLiteral("Duplicate"))->shortcut(),
                 QKeySequence(QStringLiteral("Ctrl+R")));
    }

    /// Qt calls neither of two actions that have the same keys.
    void keysOfAnotherActionAreRefused() {
        WindowHand hand(oneNode());
        const DialogAnswer answer("settings", QDialogButtonBox::Ok, [](QDialog& dialog) {
            QVERIFY(setKeys(dialog, "Duplicate", "Ctrl+Y").contains(QLatin1String("\"Redo\"")));
            QVERIFY(setKeys(dialog, "Duplicate", "Ctrl+Shift+Z").contains(QLatin1String("\"Redo\"")));
            QVERIFY(setKeys(dialog, "Duplicate", "Ctrl+Alt+1").contains(QLatin1String("all to lane")));
            // The first keys of a longer shortcut.
            QCOMPARE(setKeys(dialog, "Duplicate", "Ctrl+R, 1"), QString());
            QVERIFY(setKeys(dialog, "Copy", "Ctrl+R").contains(QLatin1String("Ctrl+R, 1")));
            QVERIFY(setKeys(dialog, "Copy", "Ctrl+R, 1, 2").contains(QLatin1String("Ctrl+R, 1")));
            // Its own shortcut, and others that begin like it.
            QCOMPARE(setKeys(dialog, "Duplicate", "Ctrl+R, 1"), QString());
            QCOMPARE(setKeys(dialog, "Copy", "Ctrl+R, 2"), QString());
        });
        openSettings(hand);
        QVERIFY(answer.answered());
        QCOMPARE(action(*hand.window, QStringLiteral("Duplicate"))->shortcut(),
                 QKeySequence(QStringLiteral("Ctrl+R, 1")));
        QCOMPARE(action(*hand.window, QStringLiteral("Redo"))->shortcuts().size(), 2);
    }

    void theSystemReportIsCopied() {
        WindowHand hand(oneNode());
        QString report;
        const DialogAnswer answer("about", QDialogButtonBox::Close, [&](QDialog& dialog) {
            report = dialog.findChild<QPlainTextEdit*>()->toPlainText();
            for (QPushButton* button : dialog.findChildren<QPushButton*>())
                if (button->text() == QLatin1String("Copy system report"))
                    QTest::mouseClick(button, Qt::LeftButton);
        });
        hand.key(Qt::Key_F1, Qt::ControlModifier);
        QVERIFY(answer.answered());
        QCOMPARE(QApplication::clipboard()->text(), report);
        for (const char* fact :
             {"Tensor Workbench: ", "Qt: 6", "QCustomPlot: ", "System: ", "cuda:0: simulated", "GPU: none: "})
            QVERIFY2(report.contains(QLatin1String(fact)), qPrintable(report));
    }

    void thePrintedPageHoldsTheGraph() {
        QTemporaryDir folder;
        WindowHand hand(oneNode());
        QPrinter printer;
        printer.setOutputFormat(QPrinter::PdfFormat);
        printer.setOutputFileName(folder.filePath(QStringLiteral("a.pdf")));
        QVERIFY(printPicture(hand.canvas, printer));
        QFile file(printer.outputFileName());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.read(5) == "%PDF-");
        QVERIFY(file.size() > 4000); // contains fonts and lines
    }
};

TWB_GUI_TEST_MAIN(TestSettings)
#include "test_settings.moc"
