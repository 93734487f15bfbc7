#include "backends/device_map.h"
#include "core/error.h"
#include "graph/composites.h"
#include "placement/analysis.h"
#include "support/test_main.h"

#include <array>

using namespace twb;

class TestComposites : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linearIsALayer();
    void mlpIsAModuleOfModules();
    void sizesAreChecked();
    void eachRunsOnceItHasAnInput();
};

namespace {

/// The composite on a cpu lane; its first Gemm, which has no input yet, gets ones of [5, inputs].
Graph withInput(const Fragment& fragment, std::int64_t inputs) {
    Graph graph;
    DeltaBuilder builder(graph, "test");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    std::vector<NodeId> added;
    paste(builder, fragment, {10, 10}, lane, &added);
    Node ones;
    ones.op = "Ones";
    ones.name = "x";
    ones.lane = lane;
    ones.attributes = {{"shape", std::vector<std::int64_t>{5, inputs}}};
    const NodeId x = builder.addNode(ones);
    for (const NodeId id : added)
        for (const char* open : {"Gemm", "Carried", "Identity"})
            if (builder.graph().find(id)->op == open && !builder.graph().sourceOf({id, 0}))
                builder.connect({{x, 0}, {id, 0}});
    Node yes;
    yes.op = "Constant";
    yes.name = "yes";
    yes.lane = lane;
    yes.attributes = {
        {"value", std::int64_t{1}}, {"shape", std::vector<std::int64_t>{}}, {"dtype", std::string("bool")}};
    const NodeId condition = builder.addNode(yes);
    for (const NodeId id : added)
        if (builder.graph().find(id)->op == "If") builder.connect({{condition, 0}, {id, 0}});
    graph.apply(builder.take());
    return graph;
}

const std::optional<TensorType>& outputOf(const Analysis& analysis, const Graph& graph, const char* name) {
    return analysis.typeOf({graph.findByName(name)->id, 0});
}

} // namespace

void TestComposites::linearIsALayer() {
    const Fragment fragment = makeLinear(7, 3);
    QCOMPARE(fragment.nodes.size(), std::size_t(3));
    QCOMPARE(fragment.edges.size(), std::size_t(2));
    QCOMPARE(fragment.frames.size(), std::size_t(1));
    for (const Node& node : fragment.nodes) QVERIFY(node.frame == fragment.frames[0].id);
    const Graph graph = withInput(fragment, 7);
    const Analysis analysis = analyze(graph, DeviceMap(), Policy::strict, nullptr);
    QVERIFY2(!analysis.hasErrors(),
             analysis.diagnostics.empty() ? "" : analysis.diagnostics[0].message.c_str());
    QCOMPARE(outputOf(analysis, graph, "linear")->shape, (Shape{5, 3}));
    QCOMPARE(outputOf(analysis, graph, "linear.weight")->shape, (Shape{3, 7})); // in PyTorch's layout
}

void TestComposites::mlpIsAModuleOfModules() {
    const std::array<std::int64_t, 4> sizes{8, 16, 16, 2};
    const Fragment fragment = makeMlp(sizes);
    QCOMPARE(fragment.frames.size(), std::size_t(4));
    QCOMPARE(fragment.nodes.size(), std::size_t(3 * 3 + 2));
    for (std::size_t i = 1; i < fragment.frames.size(); ++i)
        QVERIFY(fragment.frames[i].parent == fragment.frames[0].id);
    const Graph graph = withInput(fragment, 8);
    const Analysis analysis = analyze(graph, DeviceMap(), Policy::strict, nullptr);
    QVERIFY(!analysis.hasErrors());
    QCOMPARE(outputOf(analysis, graph, "fc3")->shape, (Shape{5, 2}));
}

void TestComposites::sizesAreChecked() {
    QVERIFY_EXCEPTION_THROWN(makeLinear(0, 3), Error);
    QVERIFY_EXCEPTION_THROWN(makeLinear(3, -1), Error);
    const std::array<std::int64_t, 1> one{4};
    QVERIFY_EXCEPTION_THROWN(makeMlp(one), Error);
}

void TestComposites::eachRunsOnceItHasAnInput() {
    QVERIFY(!findComposite("Gemm"));
    for (const Composite& composite : composites()) {
        QCOMPARE(findComposite(composite.name), &composite);
        const Graph graph = withInput(composite.fragment, 64);
        QVERIFY(!analyze(graph, DeviceMap(), Policy::strict, nullptr).hasErrors());
    }
}

TWB_TEST_MAIN(TestComposites)
#include "test_composites.moc"
