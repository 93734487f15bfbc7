#include "clouds.h"
#include "support/test_main.h"
#include "training/mixed_precision.h"
#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

NodeId named(const Graph& graph, const std::string& name) {
    const auto node = std::ranges::find(graph.nodes(), name, &Node::name);
    if (node == graph.nodes().end()) qFatal("no node %s", name.c_str());
    return node->id;
}

/// The graph, which learns, in mixed precision.
Graph mixed(const Clouds& clouds, DType low, const Optimizer& optimizer = adam()) {
    Graph graph = clouds.learning(optimizer);
    graph.apply(makeMixedPrecision(graph, simulatedMap(), clouds.files.get(), clouds.loss, low));
    return graph;
}

void set(Graph& graph, const std::string& node, const char* attribute, AttributeValue value) {
    DeltaBuilder builder(graph, {});
    builder.setAttribute(named(graph, node), attribute, std::move(value));
    graph.apply(builder.take());
}

DType dtypeOf(const Graph& graph, const Clouds& clouds, NodeId node) {
    return analyze(graph, simulatedMap(), Policy::strict, clouds.files.get()).typeOf({node, 0})->dtype;
}

/// The bytes of the parameters.
std::vector<std::vector<double>> parametersOf(const Trainer& trainer) {
    std::vector<std::vector<double>> out;
    for (const auto& [name, tensor] : trainer.parameters()) out.push_back(valuesOf(tensor));
    return out;
}

/// Batches of 8 rows; the second one has a number that is infinite in f16.
Clouds withOverflow(const std::string& device = "cpu") {
    Clouds clouds(device, {{"batch_size", std::int64_t{8}}, {"shuffle", false}}, 32);
    std::vector<double> points = valuesOf(clouds.files->get("x.npy"));
    points[18] = 1e6;
    clouds.files->put("x.npy", tensorOf(DType::f32, {32, 2}, points));
    return clouds;
}

} // namespace

class TestMixedPrecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void productsAreLowAndLossesAreNot() {
        for (const DType low : {DType::f16, DType::bf16}) {
            for (const char* device : {"cpu", "cuda:0"}) {
                const Clouds clouds(device);
                const Graph graph = mixed(clouds, low);
                QVERIFY(analyze(graph, simulatedMap(), Policy::strict, clouds.files.get()).mayRun());
                QCOMPARE(dtypeOf(graph, clouds, clouds.scores), low);
                QCOMPARE(dtypeOf(graph, clouds, clouds.loss), DType::f32);
                QCOMPARE(dtypeOf(graph, clouds, clouds.w), DType::f32);
                const Node& cast = *graph.find(named(graph, "w as " + std::string(name(low))));
                QCOMPARE(cast.op, std::string("Cast"));
                QCOMPARE(cast.lane, graph.find(clouds.w)->lane);
                const NodeId back = named(graph, "scores as f32");
                QVERIFY(graph.sourceOf({clouds.loss, 0}) == PortRef({back, 0}));
                // Once is enough.
                QVERIFY(
                    makeMixedPrecision(graph, simulatedMap(), clouds.files.get(), clouds.loss, low).empty());
            }
        }
    }

    void aTensorWithTwoReadersIsCastOnce() {
        Clouds clouds;
        clouds.g.node("MatMul", "again", "cpu", {}, {clouds.data, clouds.data});
        const NodeId second =
            clouds.g.node("Gemm", "second", "cpu", {{"transB", true}}, {clouds.data, clouds.w});
        const NodeId sum = clouds.g.node("Add", "sum", "cpu", {}, {clouds.scores, second});
        clouds.g.connect(sum, clouds.loss, 0);
        const Graph graph = mixed(clouds, DType::bf16);
        const auto casts = std::ranges::count_if(graph.nodes(), [](const Node& node) {
            return node.op == "Cast" && node.forward == NodeId::none;
        });
        QCOMPARE(casts, 4); // data, w, b and, before the loss, sum
        QCOMPARE(graph.outgoing(named(graph, "w as bf16")).size(), std::size_t{2});
    }

    void differentOperandsGetTheWiderType() {
        Clouds clouds;
        const NodeId bias = clouds.g.node("Parameter", "bias", "cpu", {{"shape", Ints{3}}});
        const NodeId sum = clouds.g.node("Add", "sum", "cpu", {}, {clouds.scores, bias});
        clouds.g.connect(sum, clouds.loss, 0);
        const Graph graph = mixed(clouds, DType::bf16);
        QCOMPARE(dtypeOf(graph, clouds, clouds.scores), DType::bf16);
        QCOMPARE(dtypeOf(graph, clouds, sum), DType::f32);
        QVERIFY(graph.sourceOf({sum, 1}) == PortRef({bias, 0}));
    }

    void aModelLearnsAsInFullPrecision_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("low");
        QTest::addColumn<double>("clip");
        for (const char* device : {"cpu", "cuda:0"})
            for (const DType low : {DType::f16, DType::bf16})
                for (const double clip : {0.0, 0.5})
                    QTest::addRow("%s %s %g", device, std::string(name(low)).c_str(), clip)
                        << device << static_cast<int>(low) << clip;
    }
    void aModelLearnsAsInFullPrecision() {
        QFETCH(const QString, device);
        QFETCH(const int, low);
        QFETCH(const double, clip);
        const Clouds clouds(device.toStdString());
        Optimizer optimizer = adam();
        optimizer.clipNorm = clip;
        Trainer full(clouds.learning(optimizer), simulatedMap(), clouds.files, {});
        Graph graph = mixed(clouds, static_cast<DType>(low), optimizer);
        if (static_cast<DType>(low) == DType::f16) set(graph, "loss scale", "value", 1024.0);
        Trainer half(graph, simulatedMap(), clouds.files, {});
        std::vector<double> a;
        std::vector<double> b;
        while (full.place().epoch < 20) std::ranges::copy(full.run(100).losses, std::back_inserter(a));
        while (half.place().epoch < 20) std::ranges::copy(half.run(100).losses, std::back_inserter(b));
        QVERIFY(b.back() < 0.5 * b.front());
        const double precision = static_cast<DType>(low) == DType::f16 ? 5e-3 : 4e-2;
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY2(std::abs(a[i] - b[i]) < precision,
                     qPrintable(QStringLiteral("step %1: %2, %3").arg(i).arg(a[i]).arg(b[i])));
    }

    void anOverflowSkipsTheStepAndHalvesTheScale() {
        for (const char* device : {"cpu", "cuda:0"}) {
            const Clouds clouds = withOverflow(device);
            Trainer trainer(mixed(clouds, DType::f16), simulatedMap(), clouds.files, {});
            const auto number = [&](const char* name) { return valuesOf(trainer.state().at(name)).at(0); };
            const auto start = parametersOf(trainer);
            trainer.run(1);
            const auto before = parametersOf(trainer);
            const auto state = trainer.state();
            QVERIFY(before != start);
            QCOMPARE(number("loss scale"), 65536.0);
            QCOMPARE(number("good steps"), 1.0);
            QCOMPARE(number("step"), 1.0);
            const TrainedSteps bad = trainer.run(1);
            QVERIFY(!std::isfinite(bad.losses.at(0)));
            QCOMPARE(parametersOf(trainer), before);
            QCOMPARE(number("loss scale"), 32768.0);
            QCOMPARE(number("good steps"), 0.0);
            QCOMPARE(number("step"), 1.0);
            for (const auto& [name, tensor] : trainer.state())
                if (name != "loss scale" && name != "good steps" && !name.starts_with("losses"))
                    QVERIFY2(valuesOf(tensor) == valuesOf(state.at(name)), name.c_str());
            trainer.run(1);
            QVERIFY(parametersOf(trainer) != before);
            QCOMPARE(number("step"), 2.0);
        }
    }

    void goodStepsDoubleTheScale() {
        const Clouds clouds("cpu", {{"batch_size", std::int64_t{8}}});
        Graph graph = mixed(clouds, DType::f16);
        set(graph, "next loss scale", "growth_interval", std::int64_t{3});
        set(graph, "loss scale", "value", 1024.0); // the first one is too large for these data
        Trainer trainer(graph, simulatedMap(), clouds.files, {});
        trainer.run(7);
        QCOMPARE(valuesOf(trainer.state().at("loss scale")).at(0), 4 * 1024.0);
    }

    void theScaleDoesNotChangeTheSteps() {
        const Clouds clouds;
        std::vector<std::vector<std::vector<double>>> ends;
        for (const double scale : {256.0, 4096.0}) {
            Graph graph = mixed(clouds, DType::f16);
            set(graph, "loss scale", "value", scale);
            Trainer trainer(graph, simulatedMap(), clouds.files, {});
            trainer.run(20);
            ends.push_back(parametersOf(trainer));
        }
        for (std::size_t i = 0; i < ends[0].size(); ++i)
            for (std::size_t j = 0; j < ends[0][i].size(); ++j)
                QVERIFY(std::abs(ends[0][i][j] - ends[1][i][j]) < 1e-3);
    }

    void anEditKeepsTheScale() {
        const Clouds clouds;
        Graph graph = mixed(clouds, DType::f16);
        graph.apply(remakeBackward(graph, simulatedMap(), clouds.files.get()));
        const Training training = trainingOf(graph).value();
        const PortRef scale = lossScaleOf(graph, training).value();
        const auto readers = graph.outgoing(scale.node);
        QVERIFY(std::ranges::any_of(
            readers, [&](const Edge& edge) { return graph.find(edge.to.node)->frame == training.backward; }));
    }

    void anotherDTypeIsRefused() {
        const Clouds clouds;
        QVERIFY_THROWS_EXCEPTION(Error, mixed(clouds, DType::f64));
    }
};

TWB_TEST_MAIN(TestMixedPrecision)
#include "test_mixed_precision.moc"
