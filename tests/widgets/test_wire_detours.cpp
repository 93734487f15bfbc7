#include "support/test_main.h"
#include "widgets/text.h"
#include "widgets/window_hand.h"

#include <QDir>

#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// "fc1 -> relu behind bias" for each wire that passes behind a card.
QStringList wiresBehindCards(const Scene& scene, const Graph& graph) {
    QStringList out;
    const auto name = [&](NodeId id) { return toQt(graph.find(id)->name); };
    for (const WireShape& wire : scene.wires().shapes()) {
        if (wire.free || wire.hidden) continue;
        const WirePath path = scene.wires().path(wire);
        const NodeShape* from = scene.nodes().drawn(wire.edge.from.node);
        const NodeShape* to = scene.nodes().drawn(wire.edge.to.node);
        for (const NodeShape& card : scene.nodes().shapes()) {
            if (!card.placed || card.kind == NodeShape::Kind::row || &card == from || &card == to) continue;
            for (int i = 0; i <= 2000; ++i) {
                if (!card.rect.adjusted(1, 1, -1, -1).contains(path.at(i / 2000.0))) continue;
                out << QStringLiteral("%1 -> %2 behind %3")
                           .arg(name(wire.edge.from.node), name(wire.edge.to.node), name(card.id));
                break;
            }
        }
    }
    return out;
}

/// A wire from `a` to `out`, with a card in its way, and a card without inputs below it.
struct Blocked {
    Graph graph;
    NodeId a, out, first, below;

    Blocked() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 420});
        const Attributes shape{{"shape", std::vector<std::int64_t>{4}}};
        a = addNode(builder, cpu, "Ones", "a", 16, 120, shape);
        out = addNode(builder, cpu, "Relu", "out", 880, 120);
        first = addNode(builder, cpu, "Ones", "first", 320, 112, shape);
        below = addNode(builder, cpu, "Ones", "below", 560, 280, shape);
        builder.connect({{a, 0}, {out, 0}});
        graph.apply(builder.take());
    }
    Edge wire() const { return {{a, 0}, {out, 0}}; }
};

QString pathText(const WindowHand& hand, const Edge& wire) {
    const WirePath path = hand.canvas.scene().wires().path(*hand.canvas.scene().wires().find(wire));
    QString out;
    for (int i = 0; i <= 20; ++i) {
        const QPointF at = path.at(i / 20.0);
        out += QStringLiteral("%1,%2 ").arg(at.x(), 0, 'f', 1).arg(at.y(), 0, 'f', 1);
    }
    return out;
}

} // namespace

class TestWireDetours : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aWirePassesNoCard() {
        const Blocked g;
        WindowHand hand(g.graph);
        QCOMPARE(wiresBehindCards(hand.canvas.scene(), hand.graph()), QStringList());
        const WireShape& wire = *hand.canvas.scene().wires().find(g.wire());
        QVERIFY(wire.bounds.contains(hand.canvas.scene().wires().path(wire).bounds()));
    }

    /// The pointer finds the wire where it is drawn, and the card where the straight wire would be.
    void theDetourIsSelectedByAClick() {
        const Blocked g;
        WindowHand hand(g.graph);
        hand.click(hand.onWire(g.wire()));
        QVERIFY(hand.document.selection().edge == g.wire());
        hand.click(hand.middle(g.first));
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.first}));
    }

    /// While a card is dragged it is in nobody's way, so that it can be dropped on a wire.
    void aDroppedCardPushesTheWireAside() {
        const Blocked g;
        WindowHand hand(g.graph);
        const QString before = pathText(hand, g.wire());
        const QPoint from = hand.middle(g.below);
        const QPoint to = hand.pixel(
            {hand.shape(g.below).rect.center().x(), hand.canvas.scene().wires().find(g.wire())->end.y()});
        hand.press(from);
        for (int step = 1; step <= 4; ++step) hand.moveTo(from + (to - from) * step / 4);
        QCOMPARE(pathText(hand, g.wire()), before);
        hand.release(to);
        QCOMPARE(wiresBehindCards(hand.canvas.scene(), hand.graph()), QStringList());
        QVERIFY(pathText(hand, g.wire()) != before);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(pathText(hand, g.wire()), before);
        // A drag that is given up leaves no trace either.
        hand.press(from);
        for (int step = 1; step <= 4; ++step) hand.moveTo(from + (to - from) * step / 4);
        hand.key(Qt::Key_Escape);
        hand.release(to);
        QCOMPARE(pathText(hand, g.wire()), before);
    }

    void aWireIsStraightAgainWhenTheCardIsDeleted() {
        const Blocked g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.first));
        hand.key(Qt::Key_Delete);
        const WireShape& wire = *hand.canvas.scene().wires().find(g.wire());
        QCOMPARE(wire.bounds.height(), std::abs(wire.end.y() - wire.start.y()));
    }

    void examplesHaveNoWireBehindACard_data() {
        QTest::addColumn<QString>("file");
        const QDir folder(sourcePath("resources/examples"));
        for (const QString& name : folder.entryList({QStringLiteral("*.twb")}, QDir::Files))
            QTest::newRow(qPrintable(name)) << folder.filePath(name);
    }
    void examplesHaveNoWireBehindACard() {
        QFETCH(QString, file);
        const auto window = makeWindow();
        window->load(file);
        QCOMPARE(wiresBehindCards(window->canvas().scene(), window->document().graph()), QStringList());
    }

    /// Cards at random places, on a grid with gaps: what is routed step by step is what is routed anew.
    void editsRouteAsIfBuiltAnew() {
        std::mt19937 random(3);
        const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
        Document document(profiles());
        Graph graph;
        DeltaBuilder make(graph, "make");
        const LaneId cpu = make.addLane({LaneId::none, Device::cpu(), "", 0, 900});
        std::vector<NodeId> nodes;
        for (int i = 0; i < 40; ++i)
            nodes.push_back(addNode(make, cpu, "Add", "n" + std::to_string(i), 16 + 200.0 * (i % 8),
                                    16 + 104.0 * (i / 8)));
        for (int i = 1; i < 40; ++i)
            for (int port = 0; port < 2; ++port)
                make.connect({{nodes[std::size_t(below(i))], 0}, {nodes[std::size_t(i)], port}});
        graph.apply(make.take());
        document.setGraph(std::move(graph), {}, QString());
        const auto source = [&] {
            return SceneSource{document.graph(), document.analysis(), document.devices()};
        };
        Scene scene;
        scene.rebuild(source());
        connect(&document, &Document::changed, this,
                [&](const Delta& delta) { scene.update(source(), delta, document.revised()); });
        for (int step = 0; step < 150; ++step) {
            DeltaBuilder builder(document.graph(), "move");
            Node node = *document.graph().find(nodes[std::size_t(below(40))]);
            node.position = {16 + 200.0 * below(8) + 40.0 * below(3), 16 + 104.0 * below(6)};
            builder.change(node);
            document.apply(builder.take());
            Scene anew;
            anew.rebuild(source());
            for (const Edge& edge : document.graph().edges())
                QCOMPARE(scene.wires().path(*scene.wires().find(edge)).bounds(),
                         anew.wires().path(*anew.wires().find(edge)).bounds());
        }
    }
};

TWB_GUI_TEST_MAIN(TestWireDetours)
#include "test_wire_detours.moc"
