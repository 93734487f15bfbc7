#include "formats/onnx/onnx_model.h"
#include "placement/lane_move.h"
#include "support/fix_effects.h"
#include "support/graphs.h"
#include "support/test_main.h"
#include "support/transformer_model.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

std::map<NodeId, LaneId> allTo(const Graph& graph, LaneId lane) {
    std::map<NodeId, LaneId> wanted;
    for (const Node& node : graph.nodes()) wanted[node.id] = lane;
    return wanted;
}

} // namespace

/// The placement of imported models, and the effects of the fixes offered for them.
class TestImportedPlacement : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        m_model = parseOnnx(TransformerModel(3).bytes(), "transformer.onnx");
        m_files = makeMemoryFiles(m_model.tensors);
        DeltaBuilder builder(m_model.graph, "lane");
        m_gpu = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
        m_model.graph.apply(builder.take());
        const Analysis analysis = analyze(m_model.graph, m_devices, Policy::strict, m_files.get());
        if (analysis.hasErrors()) QFAIL(analysis.diagnostics.front().message.c_str());
    }

    /// As with model.to("cuda"), there are no errors. The only copies in an iteration are of host values
    /// computed from a tensor on the GPU.
    void aModelThatIsMovedHasNoErrors() {
        Graph graph = m_model.graph;
        DeltaBuilder builder(graph, "move");
        moveToLanes(builder, allTo(graph, m_gpu));
        graph.apply(builder.take());
        const Analysis analysis = analyze(graph, m_devices, Policy::strict, m_files.get());
        if (!analysis.diagnostics.empty() && analysis.hasErrors())
            QFAIL(analysis.diagnostics.front().message.c_str());
        for (const auto& node : analysis.nodes)
            for (const auto& type : node.outputs)
                QVERIFY2(type && type->isKnown(), graph.find(node.id)->name.c_str()); // no shape is lost
        int copies = 0;
        int onGpu = 0;
        for (const Node& node : graph.nodes()) {
            copies += node.op == "To";
            onGpu += graph.deviceOf(node).isCuda() && node.op == "MatMul";
        }
        QCOMPARE(copies, 3); // one for the Shape of each block
        QCOMPARE(onGpu, 6);
        // The same move in the other direction.
        DeltaBuilder back(graph, "back");
        moveToLanes(back, allTo(graph, graph.lanes().begin()->id));
        graph.apply(back.take());
        QVERIFY(!errors(graph));
    }

    /// Moving a single card follows the same rule: its shape stays on the host, which reads it.
    void aCardLeavesItsShapeOnTheHost() {
        const Node* reshape = m_model.graph.findByName("/0/Reshape");
        QVERIFY(reshape);
        Graph graph = m_model.graph;
        DeltaBuilder builder(graph, "move");
        const std::set<NodeId> moved = moveToLanes(builder, {{reshape->id, m_gpu}});
        graph.apply(builder.take());
        QVERIFY(moved == std::set<NodeId>{reshape->id});
        for (const Diagnostic& d : analyze(graph, m_devices, Policy::strict, m_files.get()).diagnostics)
            if (d.node == reshape->id) QVERIFY(d.port != 1);
    }

    /// A shape that is moved alone goes to the chosen lane.
    void aShapeAloneIsMoved() {
        Graph graph = m_model.graph;
        const NodeId shape = graph.sourceOf({graph.findByName("/0/Reshape")->id, 1})->node;
        DeltaBuilder builder(graph, "move");
        QVERIFY(moveToLanes(builder, {{shape, m_gpu}}) == std::set<NodeId>{shape});
    }

    /// Random faults: every offered fix removes its problem and adds none.
    void everyOfferedFixMends() {
        m_model = parseOnnx(TransformerModel(1).bytes(), "transformer.onnx");
        m_files = makeMemoryFiles(m_model.tensors);
        std::mt19937_64 random(5);
        std::size_t applied = 0;
        for (int round = 0; round < 25; ++round) {
            Graph graph = m_model.graph;
            DeltaBuilder builder(graph, "faults");
            const LaneId gpu = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
            const int percent = static_cast<int>(random() % 100);
            for (Node node : graph.nodes())
                if (static_cast<int>(random() % 100) < percent) {
                    node.lane = gpu;
                    builder.change(node);
                }
            graph.apply(builder.take());
            const QString bad = badFix(graph, m_devices, applied, m_files.get());
            QVERIFY2(bad.isEmpty(), qPrintable(QStringLiteral("graph %1: %2").arg(round).arg(bad)));
        }
        QVERIFY(applied > 200);
    }

private:
    bool errors(const Graph& graph) const {
        return analyze(graph, m_devices, Policy::strict, m_files.get()).hasErrors();
    }

    ImportedModel m_model;
    std::shared_ptr<const TensorFiles> m_files;
    const DeviceMap m_devices = simulatedMap();
    LaneId m_gpu = LaneId::none;
};

TWB_TEST_MAIN(TestImportedPlacement)
#include "test_imported_placement.moc"
