#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/keyboard_hand.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/scene_text.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>

using namespace twb;
using namespace twb::test;

namespace {

constexpr Qt::KeyboardModifiers kCtrlAlt = Qt::ControlModifier | Qt::AltModifier;

/// x -> relu on cpu, to -> neg -> back on cuda:0 and cpu again, and a lane below.
struct TwoDevices {
    Graph graph;
    LaneId cpu, cuda, spare;
    NodeId x, relu, to, neg, back;

    TwoDevices() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 240});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 240});
        spare = builder.addLane({LaneId::none, Device::cpu(), "spare", 2, 160});
        x = addNode(builder, cpu, "Ones", "x", 24, 24, {{"shape", std::vector<std::int64_t>{256}}});
        relu = addNode(builder, cpu, "Relu", "relu", 240, 24);
        to = addNode(builder, cuda, "To", "to", 440, 24);
        neg = addNode(builder, cuda, "Neg", "neg", 640, 24);
        back = addNode(builder, spare, "To", "back", 860, 24);
        builder.connect({{x, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {to, 0}});
        builder.connect({{to, 0}, {neg, 0}});
        builder.connect({{neg, 0}, {back, 0}});
        builder.addNote({NoteId::none, "a note", cuda, {24, 120}, 200, 0});
        graph.apply(builder.take());
    }
};

/// The centre of a lane's arrow.
QPoint arrowOf(const WindowHand& hand, LaneId id) {
    const LaneBand& band = *hand.canvas.scene().lanes().find(id);
    const QRectF header(0, hand.canvas.view().toPixel({0, band.top}).y(), headerWidthFor(hand.canvas.width()),
                        band.height * hand.canvas.view().zoom());
    return chevronOf(header, hand.canvas.height()).center().toPoint();
}

const StubShape* stubFor(const WindowHand& hand, NodeId id) {
    for (const StubShape& stub : hand.canvas.scene().stubs().shapes())
        if (std::find(stub.nodes.begin(), stub.nodes.end(), id) != stub.nodes.end()) return &stub;
    return nullptr;
}

/// The canvas shows the same as a newly built scene.
void compareWithFresh(const WindowHand& hand) {
    Scene fresh;
    fresh.rebuild(
        {hand.graph(), hand.document.analysis(), hand.document.devices(), hand.canvas.navigator().inside()});
    QCOMPARE(textOf(hand.canvas.scene(), hand.graph()), textOf(fresh, hand.graph()));
}

} // namespace

class TestLaneCollapse : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aLaneCollapsesToAStrip() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        const Scene& scene = hand.canvas.scene();
        const double before = scene.lanes().find(g.cuda)->height;
        hand.click(arrowOf(hand, g.cuda));
        QVERIFY(!QApplication::activePopupWidget()); // not on the arrow
        QVERIFY(hand.graph().find(g.cuda)->collapsed);
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Collapse lane cuda:0"));
        QVERIFY(scene.lanes().find(g.cuda)->height < before / 2);
        QCOMPARE(scene.lanes().find(g.spare)->top, scene.lanes().find(g.cuda)->bottom());
        QCOMPARE(scene.lanes().find(g.cuda)->hiddenNodes, 2);
        QVERIFY(scene.notes().empty());
        // Its nodes cannot be clicked, and wires between them are not drawn.
        QVERIFY(hand.shape(g.neg).kind == NodeShape::Kind::hidden);
        QVERIFY(scene.wires().find({{g.to, 0}, {g.neg, 0}})->hidden);
        const WireShape& in = *scene.wires().find({{g.relu, 0}, {g.to, 0}});
        const WireShape& out = *scene.wires().find({{g.neg, 0}, {g.back, 0}});
        const StubShape* into = stubFor(hand, g.to);
        const StubShape* outOf = stubFor(hand, g.neg);
        QVERIFY(into && outOf && into != outOf);
        QCOMPARE(into->title, QStringLiteral("1"));
        QCOMPARE(in.end, QPointF(into->rect.left(), into->rect.center().y()));
        QCOMPARE(out.start, QPointF(outOf->rect.right(), outOf->rect.center().y()));
        QVERIFY(scene.lanes().find(g.cuda)->top < into->rect.top() &&
                into->rect.bottom() < scene.lanes().find(g.cuda)->bottom());
        compareWithFresh(hand);
        QVERIFY(parseProject(toProjectText(hand.graph()), "a test") == hand.graph());
        // The run is unaffected, since only the appearance changed.
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(hand.window->runs().state().nodes.at(g.neg).ns > 0);
        QVERIFY(!hand.window->runs().state().stale);
        // The arrow or an undo expands it again.
        hand.click(arrowOf(hand, g.cuda));
        QVERIFY(!hand.graph().find(g.cuda)->collapsed);
        QVERIFY(hand.shape(g.neg).kind == NodeShape::Kind::card);
        QVERIFY(scene.stubs().shapes().empty());
        compareWithFresh(hand);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph().find(g.cuda)->collapsed);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
        compareWithFresh(hand);
    }

    void aKeyCollapsesItAndAStubOpensIt() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.neg));
        hand.key(Qt::Key_Z, kCtrlAlt);
        QVERIFY(hand.graph().find(g.cuda)->collapsed);
        const StubShape* stub = stubFor(hand, g.to);
        QVERIFY(stub);
        const QPoint at = hand.pixel(stub->rect.center());
        // A click on a stub selects its nodes.
        hand.click(at);
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.to}));
        // A drag does not move hidden nodes.
        hand.drag(at, at + QPoint(90, 0));
        QCOMPARE(hand.undoSteps(), 1);
        QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, at);
        QVERIFY(!hand.graph().find(g.cuda)->collapsed);
        QCOMPARE(hand.undoSteps(), 2);
    }

    void theMenuOfTheHeaderHasIt() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        QTimer timer;
        connect(&timer, &QTimer::timeout, this, [&] {
            QMenu* menu = openMenu();
            if (!menu) return;
            timer.stop();
            for (QAction* entry : menu->actions())
                if (entry->text() == QLatin1String("Collapse lane"))
                    return QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
            QTest::keyClick(menu, Qt::Key_Escape);
        });
        timer.start(5);
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.cpu);
        hand.click({20, hand.pixel({0, band.top + band.height / 2}).y()});
        QVERIFY(hand.graph().find(g.cpu)->collapsed);
    }

    void wiresNearToEachOtherShareAStub() {
        TwoDevices g;
        DeltaBuilder builder(g.graph, "more");
        const NodeId second = addNode(builder, g.cuda, "To", "second", 448, 120);
        builder.connect({{g.relu, 0}, {second, 0}});
        Lane lane = *g.graph.find(g.cuda);
        lane.collapsed = true;
        builder.change(lane);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const StubShape* stub = stubFor(hand, g.to);
        QVERIFY(stub && stub == stubFor(hand, second));
        QCOMPARE(stub->title, QStringLiteral("2"));
        QCOMPARE(hand.canvas.scene().stubs().shapes().size(), std::size_t(2)); // neg has a stub of its own
    }

    void errorsShowOnTheStrip() {
        TwoDevices g;
        DeltaBuilder builder(g.graph, "break");
        builder.disconnect({{g.to, 0}, {g.neg, 0}});
        Lane lane = *g.graph.find(g.cuda);
        lane.collapsed = true;
        builder.change(lane);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        QVERIFY(hand.canvas.scene().lanes().find(g.cuda)->hidesErrors);
        QVERIFY(stubFor(hand, g.neg)->hasError);
        QVERIFY(!stubFor(hand, g.to)->hasError);
    }

    void additionsExpandTheLane() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        hand.click(arrowOf(hand, g.spare));
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.spare);
        const QPoint at(hand.canvas.width() / 2, hand.pixel({0, band.top + band.height / 2}).y());
        QMimeData data;
        data.setData(QLatin1String(kOpMimeType), "Ones");
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &enter);
        QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&hand.canvas, &drop);
        QCOMPARE(hand.graph().nodes().size(), g.graph.nodes().size() + 1);
        QVERIFY(!hand.graph().find(g.spare)->collapsed);
        QCOMPARE(hand.undoSteps(), 2); // expanded in the same undo step
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph().find(g.spare)->collapsed);
    }

    void aNodeIsDraggedOnToAStrip() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        hand.click(arrowOf(hand, g.cuda));
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.cuda);
        const QPoint from = hand.middle(g.relu);
        hand.drag(from, {from.x(), hand.pixel({0, band.top + band.height / 2}).y()});
        QCOMPARE(hand.node(g.relu).lane, g.cuda);
        QCOMPARE(hand.node(g.relu).position.y, 24.0); // its former height
        QVERIFY(hand.shape(g.relu).kind == NodeShape::Kind::hidden);
        compareWithFresh(hand);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(hand.node(g.relu).lane, g.cpu);
        compareWithFresh(hand);
    }

    void findLeadsToTheStrip() {
        const TwoDevices g;
        WindowHand hand(g.graph);
        hand.click(arrowOf(hand, g.cuda));
        hand.canvas.navigator().zoom100();
        QVERIFY(hand.window->selectNode(QStringLiteral("neg")));
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.cuda);
        QVERIFY(hand.canvas.view().viewport().contains(QPointF(hand.node(g.neg).position.x, band.top + 10)));
    }
};

TWB_GUI_TEST_MAIN(TestLaneCollapse)
#include "test_lane_collapse.moc"
