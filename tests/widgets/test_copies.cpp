#include "support/test_main.h"
#include "widgets/graph_edits.h"
#include "widgets/window_hand.h"

#include <QInputDialog>
#include <QPlainTextEdit>

using namespace twb;
using namespace twb::test;

namespace {

/// A node and a note on cpu, and an empty cuda:0.
struct Noted {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x;
    NoteId note;

    Noted() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 400});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 300});
        x = addNode(builder, cpu, "Ones", "x", 48, 48);
        Note words;
        words.text = "words";
        words.lane = cpu;
        words.position = {480, 48};
        note = builder.addNote(words);
        graph.apply(builder.take());
    }
};

QPoint middleOf(const WindowHand& hand, NoteId id) {
    for (const NoteShape& shape : hand.canvas.scene().notes())
        if (shape.id == id) return hand.pixel(shape.rect.center());
    return {};
}

/// Types a text into the next dialog and accepts it.
class NoteText : public QObject {
public:
    NoteText() {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            m_timer.stop();
            QTest::keyClicks(dialog->findChild<QPlainTextEdit*>(), QStringLiteral("typed"));
            dialog->accept();
        });
        m_timer.start(10);
    }

private:
    QTimer m_timer;
};

} // namespace

class TestCopies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// The original stayed selected, and the next command applied to it.
    void copiedNotesAreSelected_data() {
        QTest::addColumn<bool>("duplicates");
        QTest::newRow("duplicate") << true;
        QTest::newRow("paste") << false;
    }
    void copiedNotesAreSelected() {
        QFETCH(bool, duplicates);
        const Noted g;
        WindowHand hand(g.graph);
        const auto copyThem = [&] {
            if (duplicates) return hand.key(Qt::Key_D, Qt::ControlModifier);
            hand.key(Qt::Key_C, Qt::ControlModifier);
            hand.key(Qt::Key_V, Qt::ControlModifier);
        };
        hand.click(middleOf(hand, g.note));
        QCOMPARE(hand.document.selection().notes, std::set{g.note});
        copyThem();
        QCOMPARE(hand.graph().notes().size(), std::size_t(2));
        hand.key(Qt::Key_Delete);
        QCOMPARE(hand.graph().notes().size(), std::size_t(1));
        QVERIFY(hand.graph().find(g.note));
        // Together with nodes.
        hand.key(Qt::Key_A, Qt::ControlModifier);
        copyThem();
        QCOMPARE(hand.document.selection().notes.size(), std::size_t(1));
        QCOMPARE(hand.document.selection().nodes.size(), std::size_t(1));
        QVERIFY(!hand.document.selection().notes.contains(g.note));
        QVERIFY(!hand.document.selection().nodes.contains(g.x));
    }

    void noCopyCoversAnother() {
        const Noted g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_A, Qt::ControlModifier);
        hand.key(Qt::Key_C, Qt::ControlModifier);
        for (int i = 0; i < 3; ++i) hand.key(Qt::Key_V, Qt::ControlModifier);
        hand.click(hand.middle(g.x));
        hand.key(Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(5));
        QCOMPARE(hand.graph().notes().size(), std::size_t(4));
        std::set<std::pair<double, double>> places;
        for (const Node& node : hand.graph().nodes()) places.emplace(node.position.x, node.position.y);
        for (const Note& note : hand.graph().notes()) places.emplace(note.position.x, note.position.y);
        QCOMPARE(places.size(), std::size_t(9));
    }

    /// They were beside the original, which was not in view.
    void pastedNodesAreInView() {
        const Noted g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.x));
        hand.key(Qt::Key_C, Qt::ControlModifier);
        hand.canvas.navigator().zoom100();
        hand.canvas.navigator().centerOn({4000, 200});
        const QRectF before = hand.canvas.view().viewport();
        QVERIFY(!before.intersects(hand.shape(g.x).rect));
        hand.key(Qt::Key_V, Qt::ControlModifier);
        const NodeId copy = *hand.document.selection().nodes.begin();
        QVERIFY(copy != g.x);
        QVERIFY(hand.canvas.view().freeViewport().contains(hand.shape(copy).rect));
        // A view that shows the copy stays.
        const QRectF now = hand.canvas.view().viewport();
        hand.key(Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(hand.canvas.view().viewport(), now);
    }

    /// Notes on a collapsed lane are invisible.
    void anAddedNoteExpandsItsLane() {
        const Noted g;
        WindowHand hand(g.graph);
        hand.click(middleOf(hand, g.note));
        hand.key(Qt::Key_C, Qt::ControlModifier);
        const auto collapse = [&] {
            hand.document.apply(collapseLane(hand.graph(), g.cpu, true));
            QVERIFY(hand.graph().find(g.cpu)->collapsed);
        };
        collapse();
        hand.key(Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(hand.graph().notes().size(), std::size_t(2));
        QVERIFY(!hand.graph().find(g.cpu)->collapsed);
        hand.key(Qt::Key_Z, Qt::ControlModifier); // in one step
        QCOMPARE(hand.graph().notes().size(), std::size_t(1));
        QVERIFY(hand.graph().find(g.cpu)->collapsed);

        const double strip = hand.canvas.scene().lanes().find(g.cpu)->top + 4;
        hand.canvas.navigator().zoom100();
        hand.canvas.navigator().centerOn({300, strip});
        if (hand.canvas.scene().lanes().at(hand.canvas.middle().y())->id != g.cpu)
            QSKIP("the view does not scroll so far");
        const NoteText typing;
        hand.key(Qt::Key_N, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(hand.graph().notes().size(), std::size_t(2));
        QVERIFY(!hand.graph().find(g.cpu)->collapsed);
        QCOMPARE(hand.document.selection().notes.size(), std::size_t(1));
    }
};

TWB_GUI_TEST_MAIN(TestCopies)
#include "test_copies.moc"
