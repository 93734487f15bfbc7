#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QLineEdit>
#include <QListView>
#include <QSpinBox>
#include <QTabBar>
#include <QWheelEvent>

using namespace twb;
using namespace twb::test;

namespace {

/// Two nodes on the cpu lane: x and relu(x).
struct Two {
    Graph graph;
    NodeId x, relu;

    Two() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260});
        x = addNode(builder, cpu, "Ones", "x", 24, 24);
        relu = addNode(builder, cpu, "Relu", "relu", 240, 24);
        builder.connect({{x, 0}, {relu, 0}});
        graph.apply(builder.take());
    }
};

/// Sends a key to the focused widget, as a keyboard does.
void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QWidget* focus = QApplication::focusWidget();
    QVERIFY(focus);
    QTest::keyClick(focus, key, modifiers);
}

/// As a mouse does: a widget may take the focus before it receives the event.
void turnWheel(QWidget& widget, int angle) {
    const QPointF at = widget.rect().center();
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, angle}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&event);
    qApp->notify(&widget, &event);
}

} // namespace

class TestFocus : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void afterAClickOnRunTheCanvasHasTheKeys() {
        const Two g;
        WindowHand hand(g.graph);
        auto* iterations = find<QSpinBox>(*hand.window, "iterations");
        hand.click(hand.middle(g.relu));
        hand.key(Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(3));
        const int before = iterations->value();
        QTest::mouseClick(find<QPushButton>(*hand.window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(hand.canvas.hasFocus());
        press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(2));
        hand.click(hand.middle(g.relu));
        QTest::mouseClick(find<QPushButton>(*hand.window, "run"), Qt::LeftButton);
        QVERIFY(waitForRun(*hand.window));
        press(Qt::Key_Delete);
        QVERIFY(!hand.graph().find(g.relu));
        QCOMPARE(iterations->value(), before);
        QVERIFY(!iterations->text().isEmpty());
    }

    void aRunStartedByKeysLeavesNoKeyInTheNextField() {
        const Two g;
        WindowHand hand(g.graph);
        auto* run = find<QPushButton>(*hand.window, "run");
        run->setFocus(Qt::TabFocusReason);
        press(Qt::Key_Space);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(hand.canvas.hasFocus());
    }

    void aNumberBeingTypedCountsForTheRun() {
        const Two g;
        WindowHand hand(g.graph);
        auto* iterations = find<QSpinBox>(*hand.window, "iterations");
        for (const bool byKey : {false, true}) {
            iterations->setFocus();
            iterations->selectAll();
            QTest::keyClicks(iterations, byKey ? QStringLiteral("7") : QStringLiteral("5"));
            if (byKey)
                press(Qt::Key_F5);
            else
                QTest::mouseClick(find<QPushButton>(*hand.window, "run"), Qt::LeftButton);
            QVERIFY(waitForRun(*hand.window));
            QCOMPARE(hand.graph().info().iterations, byKey ? 7 : 5);
        }
    }

    /// The number was replaced by the document's when the document changed, and was not saved.
    void aNumberBeingTypedCountsForEveryAction() {
        const Two g;
        WindowHand hand(g.graph);
        QTemporaryDir home;
        const QString path = home.filePath(QStringLiteral("mine.twb"));
        hand.document.save(path);
        hand.click(hand.middle(g.relu));
        auto* iterations = find<QSpinBox>(*hand.window, "iterations");
        const auto type = [&](const char* number) {
            iterations->setFocus();
            iterations->selectAll();
            QTest::keyClicks(iterations, QLatin1String(number));
            QVERIFY(hand.graph().info().iterations != QByteArray(number).toInt());
        };
        type("41");
        press(Qt::Key_S, Qt::ControlModifier);
        QCOMPARE(loadProject(path.toStdString()).info().iterations, 41);
        type("42");
        press(Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(3));
        QCOMPARE(hand.graph().info().iterations, 42);
        type("43");
        Node renamed = hand.node(g.relu);
        renamed.name = "another";
        DeltaBuilder rename(hand.graph(), "rename");
        rename.change(renamed);
        hand.document.apply(rename.take()); // not by an action
        QCOMPARE(iterations->cleanText(), QStringLiteral("43"));
        BoxAnswer answer(QMessageBox::Save);
        QVERIFY(hand.window->close());
        QVERIFY(answer.answered());
        QCOMPARE(loadProject(path.toStdString()).info().iterations, 43);
    }

    void aPolicyThatIsClickedLeavesTheKeysToTheCanvas() {
        const Two g;
        WindowHand hand(g.graph);
        auto* policy = find<QComboBox>(*hand.window, "policy");
        find<QSpinBox>(*hand.window, "iterations")->setFocus();
        QTest::mouseClick(policy, Qt::LeftButton);
        QAbstractItemView* list = policy->view();
        QVERIFY(list->isVisible());
        QTest::keyClick(list, Qt::Key_Down);
        QTest::keyClick(list, Qt::Key_Return);
        QCOMPARE(hand.graph().info().policy.kind(), Policy::Kind::implicit);
        QVERIFY(hand.canvas.hasFocus());
        // A change by keyboard leaves the focus in the combo box, for the next arrow key.
        policy->setFocus(Qt::TabFocusReason);
        press(Qt::Key_Up);
        QCOMPARE(hand.graph().info().policy.kind(), Policy::Kind::strict);
        QVERIFY(policy->hasFocus());
    }

    /// The wheel over the bar was an edit.
    void theWheelNeedsTheFocus() {
        const Two g;
        WindowHand hand(g.graph);
        auto* iterations = find<QSpinBox>(*hand.window, "iterations");
        auto* policy = find<QComboBox>(*hand.window, "policy");
        hand.click(hand.middle(g.x));
        auto* dtype = find<QComboBox>(*hand.window, "attribute.dtype");
        auto* lane = find<QComboBox>(*hand.window, "laneChoice");
        for (QWidget* box : {static_cast<QWidget*>(iterations), static_cast<QWidget*>(policy),
                             static_cast<QWidget*>(dtype), static_cast<QWidget*>(lane)})
            for (const int turn : {120, -120}) turnWheel(*box, turn);
        QCOMPARE(hand.undoSteps(), 0);
        QCOMPARE(iterations->value(), 1);
        QVERIFY(hand.canvas.hasFocus());
        iterations->setFocus();
        turnWheel(*iterations, 120);
        QCOMPARE(hand.graph().info().iterations, 2);
        policy->setFocus();
        turnWheel(*policy, -120);
        QCOMPARE(hand.graph().info().policy.kind(), Policy::Kind::implicit);
    }

    void aClickOnAFixLeavesTheKeysToTheCanvas() {
        WindowHand hand(loadProject(sourcePath(kMismatch).toStdString()));
        const NodeId faulty = hand.document.analysis().diagnostics.front().node;
        hand.click(hand.middle(faulty));
        QCoreApplication::processEvents();
        FixButton* fix = nullptr;
        for (FixButton* button : hand.window->findChildren<FixButton*>())
            if (button->isVisible() && !fix) fix = button;
        QVERIFY(fix);
        QTest::mouseClick(fix, Qt::LeftButton);
        QVERIFY(!hand.document.analysis().hasErrors());
        QVERIFY(hand.canvas.hasFocus());
        press(Qt::Key_Space);
        QVERIFY(!hand.window->runs().isRunning() && !hand.window->runs().result());
    }

    void theSearchListEndsWithEnterAndStaysInTheWindow() {
        const Two g;
        WindowHand hand(g.graph);
        hand.window->resize(1000, 640);
        auto* field = find<QLineEdit>(*hand.window, "quickFind");
        hand.key(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(field->hasFocus());
        QTest::keyClicks(field, QStringLiteral("e"));
        auto* list = qobject_cast<QListView*>(QApplication::activePopupWidget());
        QVERIFY(list);
        QVERIFY2(hand.window->frameGeometry().contains(list->frameGeometry()),
                 qPrintable(QStringLiteral("%1 … %2").arg(list->x()).arg(list->frameGeometry().right())));
        QTest::keyClick(field, Qt::Key_Backspace);
        QTest::keyClicks(field, QStringLiteral("relu"));
        QVERIFY(list->isVisible());
        QTest::keyClick(list, Qt::Key_Return);
        QVERIFY(!list->isVisible());
        QTRY_VERIFY(hand.document.selection().nodes == std::set{g.relu});
        QVERIFY(hand.canvas.hasFocus());
        QVERIFY(field->text().isEmpty());
    }

    void theSearchTakesTheRowThatTheArrowsChose() {
        Graph graph;
        DeltaBuilder make(graph, "make");
        const LaneId cpu = make.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        addNode(make, cpu, "Ones", "part one", 24, 24);
        const NodeId second = addNode(make, cpu, "Ones", "part two", 240, 24);
        graph.apply(make.take());
        WindowHand hand(graph);
        hand.key(Qt::Key_P, Qt::ControlModifier);
        auto* field = find<QLineEdit>(*hand.window, "quickFind");
        QTest::keyClicks(field, QStringLiteral("part"));
        QWidget* list = QApplication::activePopupWidget();
        QVERIFY(list);
        QTest::keyClick(list, Qt::Key_Down);
        QTest::keyClick(list, Qt::Key_Down);
        QTest::keyClick(list, Qt::Key_Return);
        QTRY_VERIFY(hand.document.selection().nodes == std::set{second});
    }

    void f6GoesAroundThePanesThatAreShown() {
        const Two g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.relu));
        hand.canvas.setFocus();
        const auto pane = [&] {
            const QWidget* at = QApplication::focusWidget();
            for (; at && at != hand.window.get(); at = at->parentWidget())
                for (const char* name : {"Run bar", "Palette", "Inspector", "Graph canvas"})
                    if (at->accessibleName() == QLatin1String(name)) return QString::fromLatin1(name);
            return QStringLiteral("Bottom");
        };
        QStringList way;
        for (int i = 0; i < 5; ++i) {
            press(Qt::Key_F6);
            way << pane();
        }
        QCOMPARE(way, (QStringList{QStringLiteral("Inspector"), QStringLiteral("Bottom"),
                                   QStringLiteral("Run bar"), QStringLiteral("Palette"),
                                   QStringLiteral("Graph canvas")}));
        press(Qt::Key_F6, Qt::ShiftModifier);
        QCOMPARE(pane(), QStringLiteral("Palette"));
        // The focus returns to its last widget in a pane, and skips hidden panes.
        auto* ops = find<QListView>(*hand.window, "paletteList");
        ops->setFocus();
        press(Qt::Key_F6);
        press(Qt::Key_F6, Qt::ShiftModifier);
        QVERIFY(ops->hasFocus());
        press(Qt::Key_F9); // hides the palette
        hand.canvas.setFocus();
        press(Qt::Key_F6, Qt::ShiftModifier);
        QCOMPARE(pane(), QStringLiteral("Run bar"));
    }

    void tabLeavesTheCanvasAsAnyControl() {
        const Two g;
        WindowHand hand(g.graph);
        hand.canvas.setFocus();
        press(Qt::Key_Tab);
        QVERIFY(!QApplication::activePopupWidget());
        QVERIFY(!hand.canvas.hasFocus());
        press(Qt::Key_Backtab, Qt::ShiftModifier);
        QVERIFY(hand.canvas.hasFocus());
    }

    void thePaletteShowsWhereTheKeysAre() {
        const Two g;
        WindowHand hand(g.graph);
        auto* search = find<QLineEdit>(*hand.window, "paletteSearch");
        auto* ops = find<QListView>(*hand.window, "paletteList");
        search->setFocus();
        press(Qt::Key_Tab);
        QVERIFY(ops->hasFocus());
        QVERIFY(ops->currentIndex().isValid());
        const auto ringed = [&] {
            const QImage picture = ops->viewport()->grab(ops->visualRect(ops->currentIndex())).toImage();
            int pixels = 0;
            for (int x = 0; x < picture.width(); ++x)
                for (int y = 0; y < picture.height(); ++y) {
                    const QColor color = picture.pixelColor(x, y);
                    const QColor accent = Theme::current().accent;
                    pixels += std::abs(color.red() - accent.red()) +
                                  std::abs(color.green() - accent.green()) +
                                  std::abs(color.blue() - accent.blue()) <
                              60;
                }
            return pixels;
        };
        const int with = ringed();
        hand.canvas.setFocus();
        QVERIFY2(with > ringed() + 100, qPrintable(QString::number(with)));
    }
};

TWB_GUI_TEST_MAIN(TestFocus)
#include "test_focus.moc"
