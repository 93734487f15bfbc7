#include "graph/folding.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

class TestFolding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// The backward node has the smaller id, and reads the shape at another port.
    void aShapeOnTheHostStaysThereBesideATraining() {
        using Ints = std::vector<std::int64_t>;
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{4, 4}}});
        const NodeId shape =
            g.node("Constant", "shape", "cpu", {{"value", Ints{2, 8}}, {"dtype", std::string("i64")}});
        const NodeId backward = g.node("Neg", "backward", "cpu", {}, {shape});
        const NodeId reshape = g.node("Reshape", "reshape", "cpu", {}, {x, shape});
        Graph graph = g.graph();
        DeltaBuilder builder(graph, "fold");
        Node folded = *graph.find(shape);
        folded.folded = true;
        builder.change(folded);
        Node gradient = *graph.find(backward);
        gradient.forward = reshape;
        builder.change(gradient);
        graph.apply(builder.take());
        QVERIFY(foldTarget(graph, shape) == PortRef({reshape, 1}));
        QCOMPARE(movedWith(graph, reshape, Device::cuda(0)), std::vector<NodeId>{reshape});
        QCOMPARE(movedWith(graph, reshape, Device::cpu()), (std::vector<NodeId>{reshape, shape}));
    }
};

TWB_TEST_MAIN(TestFolding)
#include "test_folding.moc"
