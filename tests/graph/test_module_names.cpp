#include "graph/folding.h"
#include "graph/module_names.h"
#include "support/test_main.h"

using namespace twb;

namespace {

using Path = std::vector<std::string>;

NodeId add(DeltaBuilder& builder, LaneId lane, const char* op, const char* name) {
    Node node;
    node.op = op;
    node.name = name;
    node.lane = lane;
    return builder.addNode(node);
}

} // namespace

class TestModuleNames : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void paths_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("path");
        const auto row = [](const char* name, const char* path) {
            QTest::newRow(name) << QString::fromUtf8(name) << QString::fromUtf8(path);
        };
        row("/layer1/0/conv1/Conv", "layer1|0|conv1|Conv");
        row("/layer1/layer1.0/conv1/Conv", "layer1|0|conv1|Conv"); // as written by torch.onnx
        row("/features/features.1/features.1.conv/features.1.conv.0/Conv", "features|1|conv|0|Conv");
        row("/encoder/layers.0/self_attn/MatMul", "encoder|layers|0|self_attn|MatMul");
        row("layer1.0.conv1.weight", "layer1|0|conv1|weight");
        row("fc1", "fc1");
        row("a / b", "a / b");
        row("/", "/");
        row("", "");
    }
    void paths() {
        QFETCH(QString, name);
        QFETCH(QString, path);
        QStringList parts;
        for (const std::string& part : namePath(name.toStdString())) parts << QString::fromStdString(part);
        QCOMPARE(parts.join(QLatin1Char('|')), path);
    }

    void modulesOfTwoCardsAndMoreAreFramed() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        const NodeId x = add(builder, lane, "Input", "x");
        const NodeId conv1 = add(builder, lane, "Gemm", "/layer1/layer1.0/conv1/Gemm");
        const NodeId weight = add(builder, lane, "Ones", "layer1.0.conv1.weight");
        const NodeId relu = add(builder, lane, "Relu", "Relu_3"); // its name has no module
        const NodeId conv2 = add(builder, lane, "Gemm", "/layer1/layer1.0/conv2/Gemm");
        const NodeId next = add(builder, lane, "Relu", "/layer1/layer1.1/relu/Relu");
        const NodeId out = add(builder, lane, "Probe", "/y");
        builder.connect({{x, 0}, {conv1, 0}});
        builder.connect({{weight, 0}, {conv1, 1}});
        builder.connect({{conv1, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {conv2, 0}});
        builder.connect({{conv2, 0}, {next, 0}});
        builder.connect({{next, 0}, {out, 0}});
        graph.apply(builder.take());
        graph.apply(fold(graph, {weight}));
        graph.apply(frameModules(graph));

        QCOMPARE(graph.frames().size(), std::size_t{2}); // conv1 and layer1.1 have one card each
        const Frame& layer = *graph.frames().begin();
        const Frame& block = *graph.find(graph.find(conv1)->frame);
        QCOMPARE(layer.title, "layer1");
        QCOMPARE(block.title, "layer1.0");
        QCOMPARE(block.parent, layer.id);
        for (const NodeId id : {weight, relu, conv2}) QCOMPARE(graph.find(id)->frame, block.id);
        QCOMPARE(graph.find(next)->frame, layer.id);
        for (const NodeId id : {x, out}) QCOMPARE(graph.find(id)->frame, FrameId::none);

        QCOMPARE(shortNameOf(graph, *graph.find(conv1)), "conv1");
        QCOMPARE(shortNameOf(graph, *graph.find(next)), "relu");
        QCOMPARE(shortNameOf(graph, *graph.find(relu)), "Relu_3");
        QCOMPARE(shortNameOf(graph, *graph.find(x)), "x");
        QCOMPARE(shortNameOf(graph, *graph.find(out)), "y");
    }

    /// A module whose size is computed apart from its tensors has a frame; one that is called twice has none.
    void modulesMayHaveSmallPartsOfTheirOwn() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        const NodeId x = add(builder, lane, "Input", "x");
        NodeId last = x;
        const auto next = [&](const char* op, const char* name) {
            const NodeId id = add(builder, lane, op, name);
            builder.connect({{last, 0}, {id, 0}});
            return last = id;
        };
        const NodeId first = next("Relu", "/block/Relu");
        next("Neg", "/block/Neg");
        next("Exp", "/block/Exp");
        const NodeId called = next("Relu", "/act/Relu");
        next("Neg", "/act/Neg");
        const NodeId between = next("Exp", "/other/Exp");
        const NodeId again = next("Relu", "/act/Relu_1");
        next("Neg", "/act/Neg_1");
        last = x;
        const NodeId size = next("Shape", "/block/Shape");
        const NodeId other = next("Cast", "/block/Cast");
        graph.apply(builder.take());
        graph.apply(frameModules(graph));
        QCOMPARE(graph.frames().size(), std::size_t{1});
        const Frame& block = *graph.frames().begin();
        QCOMPARE(block.title, "block");
        for (const NodeId id : {first, size, other}) QCOMPARE(graph.find(id)->frame, block.id);
        for (const NodeId id : {called, between, again}) QCOMPARE(graph.find(id)->frame, FrameId::none);
    }
};

TWB_TEST_MAIN(TestModuleNames)
#include "test_module_names.moc"
