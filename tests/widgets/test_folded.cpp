#include "graph/folding.h"
#include "support/test_main.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/minimap.h"
#include "widgets/canvas_fixture.h"

using namespace twb;
using namespace twb::test;

namespace {

/// x @ weight + bias on a cpu lane with both parameters folded; a cuda lane below.
struct FoldedGraph {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, fc, weight, bias;

    FoldedGraph() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 300});
        const std::vector<std::int64_t> square{8, 8};
        x = addNode(builder, cpu, "Ones", "x", 24, 40, {{"shape", square}});
        fc = addNode(builder, cpu, "Gemm", "fc", 320, 40);
        weight = addNode(builder, cpu, "Ones", "fc.weight", 120, 160, {{"shape", square}});
        bias = addNode(builder, cpu, "Constant", "fc.bias", 120, 240, {{"value", 0.5}});
        builder.connect({{x, 0}, {fc, 0}});
        builder.connect({{weight, 0}, {fc, 1}});
        builder.connect({{bias, 0}, {fc, 2}});
        graph.apply(builder.take());
        graph.apply(fold(graph, {weight, bias}));
    }
};

} // namespace

class TestFolded : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void parametersAreRowsOfTheirCard() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        const NodeShape& card = shown.shape(g.fc);
        QVERIFY(card.rect.height() > 74 + 40);
        double y = bodyOf(card).bottom() - 1;
        for (const NodeId id : {g.weight, g.bias}) {
            const NodeShape& row = shown.shape(id);
            QCOMPARE(row.kind, NodeShape::Kind::row);
            QVERIFY(card.rect.contains(row.rect));
            QVERIFY(row.rect.top() >= y);
            y = row.rect.bottom();
        }
        // Each is beside its port and has no wire; the wire from x is straight.
        QCOMPARE(portPosition(card, PortSide::input, 1).y(), shown.shape(g.weight).rect.center().y());
        QVERIFY(shown.canvas.scene().wires().find({{g.weight, 0}, {g.fc, 1}})->hidden);
        QCOMPARE(portPosition(card, PortSide::input, 0).y(), portPosition(card, PortSide::output, 0).y());
    }

    void aClickSelectsTheParameter() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        shown.click(shown.middle(g.bias));
        QCOMPARE(shown.document.selection().nodes, std::set<NodeId>{g.bias});
        shown.click(shown.pixel(bodyOf(shown.shape(g.fc)).center()));
        QCOMPARE(shown.document.selection().nodes, std::set<NodeId>{g.fc});
    }

    void aDoubleClickUnfoldsAndUndoFoldsAgain() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        const Graph before = shown.document.graph();
        const double height = shown.shape(g.fc).rect.height();
        QTest::mouseDClick(&shown.canvas, Qt::LeftButton, {}, shown.middle(g.weight));
        QCOMPARE(shown.undoSteps(), 1);
        QVERIFY(!shown.node(g.weight).folded && shown.node(g.bias).folded);
        QCOMPARE(shown.shape(g.weight).kind, NodeShape::Kind::card);
        QVERIFY(!shown.shape(g.weight).rect.intersects(shown.shape(g.fc).rect));
        QVERIFY(shown.shape(g.fc).rect.height() < height);
        QVERIFY(!shown.canvas.scene().wires().find({{g.weight, 0}, {g.fc, 1}})->hidden);
        shown.document.undoStack().undo();
        QVERIFY(shown.document.graph() == before);
        QCOMPARE(shown.shape(g.weight).kind, NodeShape::Kind::row);
        QCOMPARE(shown.shape(g.fc).rect.height(), height);
    }

    void aCardTakesItsParametersToAnotherLane() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        const QPoint from = shown.pixel(bodyOf(shown.shape(g.fc)).center());
        shown.drag(from, from + QPoint(0, shown.pixel({0, 300}).y() - shown.pixel({0, 0}).y()));
        for (const NodeId id : {g.fc, g.weight, g.bias}) QCOMPARE(shown.node(id).lane, g.cuda);
        QCOMPARE(shown.node(g.x).lane, g.cpu);
        QCOMPARE(shown.undoSteps(), 1);
        QVERIFY(shown.shape(g.fc).rect.contains(shown.shape(g.weight).rect));
    }

    void aRowIsDraggedAsItsCard() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        const QPoint from = shown.middle(g.weight);
        const Position before = shown.node(g.fc).position;
        shown.drag(from, from + QPoint(80, 0));
        QVERIFY(shown.node(g.fc).position.x > before.x);
        QVERIFY(shown.node(g.weight).position == g.graph.find(g.weight)->position);
        shown.key(Qt::Key_Right, Qt::ControlModifier);
        QCOMPARE(shown.undoSteps(), 2);
    }

    void aMismatchIsSeenOnTheRow() {
        FoldedGraph g;
        DeltaBuilder builder(g.graph, "move");
        Node weight = *g.graph.find(g.weight);
        weight.lane = g.cuda;
        builder.change(weight);
        g.graph.apply(builder.take());
        ShownCanvas shown(g.graph);
        QVERIFY(shown.document.analysis().hasErrors());
        QVERIFY(shown.canvas.scene().wires().isMismatch(shown.shape(g.weight)));
        QVERIFY(!shown.canvas.scene().wires().isMismatch(shown.shape(g.bias)));
        QVERIFY(shown.shape(g.fc).hasError);
        const QImage image = shown.canvas.grab().toImage();
        const QRectF row = shown.shape(g.weight).rect;
        const QColor edge = image.pixelColor(shown.pixel({row.center().x(), row.top() + 0.7}));
        QVERIFY2(edge.red() > edge.green() + 40, qPrintable(edge.name()));
    }

    void aDeletedCardTakesItsParametersAlong() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        shown.click(shown.pixel(bodyOf(shown.shape(g.fc)).center()));
        shown.key(Qt::Key_Delete);
        QCOMPARE(shown.document.graph().nodes().size(), std::size_t{1});
        shown.document.undoStack().undo();
        QVERIFY(shown.document.graph() == g.graph);
    }

    void anotherWireMayComeToAFoldedPort() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        shown.drag(shown.output(g.x), shown.input(g.fc, 1));
        QCOMPARE(shown.document.graph().sourceOf({g.fc, 1})->node, g.x);
        QCOMPARE(shown.shape(g.weight).kind, NodeShape::Kind::card); // it has no consumer any more
        shown.document.undoStack().undo();
        QCOMPARE(shown.shape(g.weight).kind, NodeShape::Kind::row);
    }

    /// It was an empty box, which looked like a field.
    void aRowTooSmallToReadIsABar() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        shown.canvas.minimap().setWanted(false);
        shown.canvas.navigator().zoomAt(shown.canvas.rect().center(), 0.4);
        QVERIFY(detailFor(shown.canvas.view().zoom(), 0) == Detail::titles);
        const QImage image = shown.canvas.grab().toImage();
        const QRectF row = shown.shape(g.weight).rect;
        const QColor card = Theme::current().raised;
        const auto colorAt = [&](double x) {
            return image.pixelColor(shown.canvas.view().toPixel({x, row.center().y()}).toPoint());
        };
        QVERIFY(colorAt(row.left() + kRowPadding + 10) != card);
        QCOMPARE(colorAt(row.right() - 10), card);
    }

    void aModuleCountsItsParameters() {
        const FoldedGraph g;
        const ShownCanvas shown(g.graph);
        const auto sizeOf = [&](std::vector<NodeId> nodes) {
            ModuleShape module;
            module.nodes = std::move(nodes);
            return moduleWords(module, g.graph, shown.document.analysis()).size;
        };
        QCOMPARE(sizeOf({g.bias, g.fc}), QStringLiteral("1 parameter · 4 B"));
        QCOMPARE(sizeOf({g.bias, g.bias, g.fc}), QStringLiteral("2 parameters · 8 B"));
    }

    void everyZoomPaints() {
        const FoldedGraph g;
        ShownCanvas shown(g.graph);
        for (int i = 0; i < 14; ++i) {
            shown.canvas.navigator().zoomOut();
            QVERIFY(!shown.canvas.grab().isNull());
        }
    }
};

TWB_GUI_TEST_MAIN(TestFolded)
#include "test_folded.moc"
