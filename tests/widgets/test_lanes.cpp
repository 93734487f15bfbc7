#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/keyboard_hand.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QInputDialog>
#include <QPushButton>
#include <QToolTip>

using namespace twb;
using namespace twb::test;

namespace {

/// x and relu on cpu, neg and a note on cuda:0, an empty lane below.
struct ThreeLanes {
    Graph graph;
    LaneId cpu, cuda, spare;
    NodeId x, relu, to, neg;
    NoteId note;

    ThreeLanes() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 240});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 240});
        spare = builder.addLane({LaneId::none, Device::cpu(), "spare", 2, 160});
        x = addNode(builder, cpu, "Ones", "x", 24, 24, {{"shape", std::vector<std::int64_t>{256}}});
        relu = addNode(builder, cpu, "Relu", "relu", 240, 24);
        to = addNode(builder, cuda, "To", "to", 440, 24);
        neg = addNode(builder, cuda, "Neg", "neg", 640, 24);
        builder.connect({{x, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {to, 0}});
        builder.connect({{to, 0}, {neg, 0}});
        note = builder.addNote({NoteId::none, "a note", cuda, {24, 120}, 200, 0});
        graph.apply(builder.take());
    }
};

/// Chooses the entry that starts with this text in the next dialog, by keyboard; without a text, cancels it.
class ChoiceAnswer : public QObject {
public:
    explicit ChoiceAnswer(const char* choice) : m_choice(QString::fromUtf8(choice)) {
        connect(&m_timer, &QTimer::timeout, this, &ChoiceAnswer::look);
        m_timer.start(5);
    }
    QString question() const { return m_question; }

private:
    void look() {
        auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
        if (!dialog || !dialog->isActiveWindow()) return;
        m_timer.stop();
        m_question = dialog->labelText();
        auto* box = dialog->findChild<QComboBox*>();
        box->setFocus();
        for (int i = 1; i < box->count() && !box->currentText().startsWith(m_choice); ++i)
            QTest::keyClick(box, Qt::Key_Down);
        auto* buttons = dialog->findChild<QDialogButtonBox*>();
        QTest::mouseClick(
            buttons->button(m_choice.isEmpty() ? QDialogButtonBox::Cancel : QDialogButtonBox::Ok),
            Qt::LeftButton);
    }

    QTimer m_timer;
    QString m_choice;
    QString m_question;
};

/// Returns when a ChoiceAnswer has answered.
void removeLaneAtHand(WindowHand& hand) {
    hand.key(Qt::Key_Backspace, Qt::ControlModifier | Qt::AltModifier);
    // The offscreen platform does not reactivate a window when its dialog closes.
    hand.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
}

} // namespace

class TestLanes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aMenuOffersOnlyPossibleMoves() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        QMenu* menu = nullptr;
        for (QMenu* one : hand.window->findChildren<QMenu*>())
            if (one->title() == QStringLiteral("&Lane")) menu = one;
        QVERIFY(menu);
        QAction* up = action(*hand.window, QStringLiteral("Move up"));
        QAction* down = action(*hand.window, QStringLiteral("Move down"));
        hand.click(hand.middle(g.x));
        menu->popup(hand.canvas.mapToGlobal(QPoint(200, 200)));
        QVERIFY(!up->isEnabled() && down->isEnabled());
        QTest::keyClick(menu, Qt::Key_Escape);
        hand.click(hand.middle(g.neg));
        menu->popup(hand.canvas.mapToGlobal(QPoint(200, 200)));
        QVERIFY(up->isEnabled() && down->isEnabled());
        QTest::keyClick(menu, Qt::Key_Escape);
        hand.key(Qt::Key_PageUp, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(hand.graph().lanesInOrder().front().id, g.cuda);
        QVERIFY(up->isEnabled());
    }

    void aLaneThatIsRemovedAsksWhereItsNodesGo() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        const std::string first = toProjectText(hand.graph());
        hand.click(hand.middle(g.neg));
        const ChoiceAnswer answer("To lane 3");
        removeLaneAtHand(hand);
        QVERIFY2(answer.question().contains(QLatin1String("the 3 items on cuda:0")),
                 qPrintable(answer.question()));
        QVERIFY(!hand.graph().find(g.cuda));
        for (const NodeId id : {g.to, g.neg}) QCOMPARE(hand.node(id).lane, g.spare);
        QCOMPARE(hand.graph().find(g.note)->lane, g.spare);
        QCOMPARE(hand.graph().edgeCount(), std::size_t(3));
        QCOMPARE(hand.undoSteps(), 1);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(toProjectText(hand.graph()) == first);
    }

    void itsNodesGoWithItOrItStays() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.neg));
        {
            const ChoiceAnswer answer("");
            removeLaneAtHand(hand);
            QVERIFY(!answer.question().isEmpty());
            QVERIFY(hand.graph() == g.graph);
        }
        const ChoiceAnswer answer("Delete the items");
        removeLaneAtHand(hand);
        QVERIFY(!answer.question().isEmpty());
        QCOMPARE(hand.graph().nodes().size(), std::size_t(2));
        QVERIFY(hand.graph().notes().empty());
        QCOMPARE(hand.graph().lanes().size(), std::size_t(2));
    }

    void lanesAreReordered() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.neg));
        hand.key(Qt::Key_PageUp, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(hand.graph().lanesInOrder().front().id, g.cuda);
        QCOMPARE(hand.canvas.scene().lanes().bands().front().id, g.cuda);
        QCOMPARE(hand.undoSteps(), 1);
        hand.key(Qt::Key_PageUp, Qt::ControlModifier | Qt::AltModifier); // already the first lane
        QCOMPARE(hand.undoSteps(), 1);
        hand.key(Qt::Key_PageDown, Qt::ControlModifier | Qt::AltModifier);
        hand.key(Qt::Key_PageDown, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(hand.graph().lanesInOrder().back().id, g.cuda);
    }

    void theHeaderOffersTheSame() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        QTimer timer;
        bool isMoved = false;
        connect(&timer, &QTimer::timeout, this, [&] {
            QMenu* menu = openMenu();
            if (!menu) return;
            timer.stop();
            for (QAction* entry : menu->actions())
                if (entry->text() == QLatin1String("Move up")) {
                    isMoved = entry->isEnabled();
                    QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
                }
        });
        timer.start(5);
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.spare);
        hand.click({20, hand.pixel({0, band.top + band.height / 2}).y()});
        QVERIFY(isMoved);
        QCOMPARE(hand.graph().lanesInOrder()[1].id, g.spare);
    }

    /// During the drag, before the drop.
    void aDragAcrossLanesSaysWhatItWouldBreakAndCost() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        const QPoint from = hand.middle(g.neg);
        const LaneBand& cpu = *hand.canvas.scene().lanes().find(g.cpu);
        const QPoint over(from.x(), hand.pixel({0, cpu.top + 160}).y());
        hand.press(from);
        hand.moveTo(from + QPoint(20, 0));
        QTRY_VERIFY(!QToolTip::isVisible()); // still its own lane
        hand.moveTo(over);
        const QString said = QToolTip::text();
        QVERIFY2(said.contains(QLatin1String("breaks neg")), qPrintable(said));
        QVERIFY2(said.contains(QLatin1String("1 transfer, 1.02 kB")) &&
                     said.contains(QLatin1String("2 transfers, 2.05 kB")) &&
                     said.endsWith(QLatin1String("modelled")),
                 qPrintable(said));
        QVERIFY(!hand.document.analysis().hasErrors()); // before the drop
        hand.moveTo(from);
        QTRY_VERIFY(!QToolTip::isVisible());
        hand.moveTo(over);
        hand.release(over);
        QVERIFY(hand.document.analysis().hasErrors());
        // Dragging back fixes the errors.
        const QPoint now = hand.middle(g.neg);
        hand.press(now);
        hand.moveTo(now + QPoint(0, 20));
        hand.moveTo(QPoint(now.x(), from.y()));
        QVERIFY2(QToolTip::text().contains(QLatin1String("fixes neg")), qPrintable(QToolTip::text()));
        hand.release(QPoint(now.x(), from.y()));
        QVERIFY(!hand.document.analysis().hasErrors());
    }

    void theEdgeOfAHeaderMakesALaneHigher() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        const auto band = [&](LaneId id) { return *hand.canvas.scene().lanes().find(id); };
        const auto edge = [&](LaneId id) { return QPoint(40, hand.pixel({0, band(id).bottom()}).y()); };
        const double before = band(g.cpu).height;
        const double zoom = hand.canvas.view().zoom();
        hand.drag(edge(g.cpu), edge(g.cpu) + QPoint(0, int(80 * zoom)));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Resize lane cpu"));
        QVERIFY(std::abs(band(g.cpu).height - before - 80) <= 8);
        QCOMPARE(band(g.cuda).top, band(g.cpu).bottom());
        // The lane cannot be smaller than its content.
        hand.drag(edge(g.cpu), edge(g.cpu) - QPoint(0, int(400 * zoom)));
        QVERIFY(band(g.cpu).bottom() > hand.shape(g.x).rect.bottom());
        QVERIFY(band(g.cpu).height < before);
        // Escape cancels.
        hand.press(edge(g.cuda));
        hand.moveTo(edge(g.cuda) + QPoint(0, 60));
        hand.key(Qt::Key_Escape);
        hand.release(edge(g.cuda) + QPoint(0, 60));
        QCOMPARE(hand.undoSteps(), 2);
        hand.document.undoStack().undo();
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void aHeaderIsDraggedToAnotherPlace() {
        const ThreeLanes g;
        WindowHand hand(g.graph);
        const auto header = [&](LaneId id) {
            const LaneBand& band = *hand.canvas.scene().lanes().find(id);
            return QPoint(40, hand.pixel({0, band.top + band.height / 2}).y());
        };
        const auto order = [&] {
            std::vector<LaneId> ids;
            for (const Lane& lane : hand.graph().lanesInOrder()) ids.push_back(lane.id);
            return ids;
        };
        hand.drag(header(g.cpu), header(g.spare) + QPoint(0, 12));
        QCOMPARE(order(), (std::vector<LaneId>{g.cuda, g.spare, g.cpu}));
        QCOMPARE(hand.undoSteps(), 1);
        hand.drag(header(g.spare), header(g.cuda) - QPoint(0, 12));
        QCOMPARE(order(), (std::vector<LaneId>{g.spare, g.cuda, g.cpu}));
        // Dropped at its own position, the lane stays, and no menu opens.
        hand.drag(header(g.cuda), header(g.cuda) + QPoint(0, 20));
        QCOMPARE(hand.undoSteps(), 2);
        QVERIFY(!QApplication::activePopupWidget());
    }
};

TWB_GUI_TEST_MAIN(TestLanes)
#include "test_lanes.moc"
