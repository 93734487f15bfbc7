#include "support/test_main.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/window_hand.h"

#include <QDropEvent>
#include <QMimeData>

using namespace twb;
using namespace twb::test;

namespace {

/// An f32 1000×1000 "x" on cpu -> "a", with a wide gap between them; an empty cuda:0 lane.
struct Start {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, a;

    Start() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260});
        x = addNode(builder, cpu, "Ones", "x", 24, 104, {{"shape", std::vector<std::int64_t>{1000, 1000}}});
        a = addNode(builder, cpu, "Abs", "a", 600, 104);
        builder.connect({{x, 0}, {a, 0}});
        graph.apply(builder.take());
    }
};

/// An op dragged from the palette over the canvas.
struct Carried {
    WindowHand& hand;
    QMimeData data;

    Carried(WindowHand& over, const char* op) : hand(over) { data.setData(QLatin1String(kOpMimeType), op); }
    /// The preview of the card.
    QRectF moveTo(QPoint at) {
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &enter);
        QDragMoveEvent move(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &move);
        hand.canvas.grab();
        return placeFor(QString::fromUtf8(data.data(QLatin1String(kOpMimeType))),
                        hand.canvas.view().toScene(at), hand.canvas.document(), hand.canvas.scene())
            .outline;
    }
    void drop(QPoint at) {
        QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &event);
    }
};

/// The bounds of all nodes and frames that are not in `before`.
QRectF addedOutline(const WindowHand& hand, const Graph& before) {
    QRectF all;
    for (const Node& node : hand.graph().nodes())
        if (!before.find(node.id)) all |= hand.shape(node.id).rect;
    for (const FrameShape& frame : hand.canvas.scene().frames().shapes())
        if (!before.find(frame.id)) all |= frame.rect;
    return all;
}

} // namespace

class TestNewCards : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void previewMatchesTheCard_data() {
        QTest::addColumn<QString>("op");
        for (const char* op : {"Relu", "BatchNormalization", "GlobalAveragePool", "To", "Linear", "MLP"})
            QTest::newRow(op) << QString::fromLatin1(op);
    }
    void previewMatchesTheCard() {
        QFETCH(QString, op);
        const Start g;
        WindowHand hand(g.graph);
        const QPoint at = hand.pixel({420, hand.canvas.scene().lanes().find(g.cuda)->top + 130});
        Carried carried(hand, qPrintable(op));
        const QRectF preview = carried.moveTo(at);
        const Graph before = hand.graph();
        carried.drop(at);
        QCOMPARE(addedOutline(hand, before), preview);
        // The second card is wider because of its longer name.
        const QPoint aside = hand.pixel({860, hand.canvas.scene().lanes().find(g.cpu)->top + 140});
        const QRectF second = carried.moveTo(aside);
        const Graph between = hand.graph();
        carried.drop(aside);
        QCOMPARE(addedOutline(hand, between).size(), second.size());
    }

    void insertedCardHasRoomForItsType() {
        const Start g;
        WindowHand hand(g.graph);
        const QPoint at = hand.onWire({{g.x, 0}, {g.a, 0}});
        Carried simple(hand, "Relu");
        const QRectF preview = simple.moveTo(at);
        const Graph before = hand.graph();
        simple.drop(at);
        QCOMPARE(hand.graph().edges().size(), std::size_t(2));
        QCOMPARE(addedOutline(hand, before), preview);
    }

    /// A wide card widens the cards above and below it, which then touched their right neighbours.
    void aWideCardLeavesRoomBesideItsColumn() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 500});
        for (int row = 0; row < 2; ++row)
            for (int column = 0; column < 2; ++column)
                addNode(builder, cpu, "Abs", "a" + std::to_string(2 * row + column), 24 + 136.0 * column,
                        24 + 104.0 * row);
        graph.apply(builder.take());
        WindowHand hand(graph);
        hand.canvas.navigator().zoom100();
        Carried carried(hand, "BatchNormalization");
        const QPoint at = hand.pixel({24 + 100, 24 + 208 + 37});
        carried.moveTo(at);
        carried.drop(at);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(5));
        for (const Node& a : hand.graph().nodes())
            for (const Node& b : hand.graph().nodes())
                QVERIFY(a.id == b.id ||
                        !hand.shape(a.id).rect.adjusted(-4, -4, 4, 4).intersects(hand.shape(b.id).rect));
    }

    void cardsDoNotLandOnEachOther() {
        const Start g;
        WindowHand hand(g.graph);
        const QPoint at = hand.pixel({420, hand.canvas.scene().lanes().find(g.cuda)->top + 90});
        Carried carried(hand, "BatchNormalization");
        for (int i = 0; i < 6; ++i) {
            const QPoint there = at + QPoint(17 * i, 5 * i);
            carried.moveTo(there);
            carried.drop(there);
        }
        for (int i = 0; i < 4; ++i) {
            hand.key(Qt::Key_Insert);
            QWidget* popup = QApplication::activePopupWidget();
            QVERIFY(popup);
            QTest::keyClicks(popup->focusProxy(), QStringLiteral("layernorm"));
            QTest::keyClick(popup->focusProxy(), Qt::Key_Return);
        }
        std::vector<QRectF> cards;
        for (const Node& node : hand.graph().nodes()) cards.push_back(hand.shape(node.id).rect);
        QCOMPARE(cards.size(), std::size_t(12));
        for (std::size_t i = 0; i < cards.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) QVERIFY(!cards[i].intersects(cards[j]));
    }
};

TWB_GUI_TEST_MAIN(TestNewCards)
#include "test_new_cards.moc"
