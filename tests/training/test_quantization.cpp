#include "clouds.h"
#include "support/test_main.h"
#include "training/mixed_precision.h"
#include "training/precision_loss.h"
#include "training/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

/// Samples from a list.
class Given final : public Samples {
public:
    explicit Given(std::vector<Sample> samples) : m_samples(std::move(samples)) {}
    std::size_t count() const override { return m_samples.size(); }
    Sample read(std::size_t index) const override { return m_samples[index]; }

private:
    std::vector<Sample> m_samples;
};

/// A graph with its files, its Input and its result.
struct Net {
    GraphMaker g;
    std::shared_ptr<MemoryFiles> files = std::make_shared<MemoryFiles>();
    NodeId x = NodeId::none;
    NodeId y = NodeId::none;

    RunSetup setup() const { return {simulatedMap(), files, Policy::strict}; }
    NodeId tensor(const std::string& name, const Tensor& tensor, const std::string& device = "cpu") {
        files->put(name + ".npy", tensor);
        return g.node("File", name, device, {{"path", name + ".npy"}});
    }
    HoldTensor hold() const {
        return [this](Node& node, const Tensor& tensor) {
            files->put(node.name, tensor);
            node.op = "File";
            node.attributes = {{"path", node.name}};
        };
    }
    Given samples(std::size_t count, double least = -2, double most = 2) const {
        Dice dice(11);
        const Shape shape(
            completeAttributes(*findOp("Input"), g.graph().find(x)->attributes).integers("shape"));
        std::vector<Sample> out;
        for (std::size_t i = 0; i < count; ++i)
            out.push_back({{PortRef{x, 0}, dice.tensor(DType::f32, shape, least, most)}});
        return Given(std::move(out));
    }
};

/// Conv, Relu, MaxPool, Conv, an Add of its input, GlobalAveragePool, Flatten, Gemm.
Net convolutional(double scaleOfOneChannel = 1) {
    Dice dice(3);
    Net net;
    net.x = net.g.node("Input", "x", "cpu", {{"shape", Ints{1, 3, 16, 16}}});
    Tensor w = dice.tensor(DType::f32, {16, 3, 3, 3}, -0.5, 0.5);
    for (std::int64_t i = 0; i < 27; ++i)
        w.values<float>()[static_cast<std::size_t>(i)] *= static_cast<float>(scaleOfOneChannel);
    const NodeId c1 =
        net.g.node("Conv", "c1", "cpu", {{"pads", Ints(4, 1)}},
                   {net.x, net.tensor("w1", w), net.tensor("b1", dice.tensor(DType::f32, {16}, -0.5, 0.5))});
    const NodeId relu = net.g.node("Relu", "relu", "cpu", {}, {c1});
    const NodeId pool =
        net.g.node("MaxPool", "pool", "cpu", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, {relu});
    const NodeId c2 =
        net.g.node("Conv", "c2", "cpu", {{"pads", Ints(4, 1)}},
                   {pool, net.tensor("w2", dice.tensor(DType::f32, {16, 16, 3, 3}, -0.2, 0.2))});
    const NodeId sum = net.g.node("Add", "sum", "cpu", {}, {c2, pool});
    const NodeId mean = net.g.node("GlobalAveragePool", "mean", "cpu", {}, {sum});
    const NodeId flat = net.g.node("Flatten", "flat", "cpu", {}, {mean});
    net.y = net.g.node("Gemm", "y", "cpu", {{"transB", true}},
                       {flat, net.tensor("w3", dice.tensor(DType::f32, {10, 16}, -1, 1)),
                        net.tensor("b3", dice.tensor(DType::f32, {10}, -1, 1))});
    return net;
}

Net perceptron(const std::string& device = "cpu") {
    Dice dice(4);
    Net net;
    net.x = net.g.node("Input", "x", device, {{"shape", Ints{8, 24}}});
    const NodeId h =
        net.g.node("MatMul", "h", device, {},
                   {net.x, net.tensor("w1", dice.tensor(DType::f32, {24, 40}, -0.5, 0.5), device)});
    const NodeId gelu = net.g.node("Gelu", "gelu", device, {}, {h});
    net.y = net.g.node("Gemm", "y", device, {{"alpha", 0.5}},
                       {gelu, net.tensor("w2", dice.tensor(DType::f32, {40, 6}, -0.5, 0.5), device),
                        net.tensor("b2", dice.tensor(DType::f32, {6}, -1, 1), device)});
    return net;
}

LowerPrecision quantized(const Net& net, const Samples& samples, const QuantizationOptions& options = {}) {
    const ValueRanges ranges = observeRanges(net.g.graph(), net.setup(), samples, {}, options.percentile);
    return quantize(net.g.graph(), net.setup(), ranges, net.hold(), options);
}

Graph after(const Net& net, const LowerPrecision& change) {
    Graph out = net.g.graph();
    out.apply(change.delta);
    return out;
}

/// The relative error of the only result, without its time.
double relativeError(const Net& net, const LowerPrecision& change, const Samples& samples) {
    const Graph changed = after(net, change);
    SampleRuns before(net.g.graph(), net.setup(), {{net.y, 0}});
    SampleRuns now(changed, net.setup(), {{net.y, 0}});
    double noise = 0;
    double signal = 0;
    for (std::size_t i = 0; i < samples.count(); ++i) {
        const auto expected = valuesOf(before.run(samples.read(i)).at({net.y, 0}));
        const auto got = valuesOf(now.run(samples.read(i)).at({net.y, 0}));
        for (std::size_t k = 0; k < expected.size(); ++k) {
            noise += (got[k] - expected[k]) * (got[k] - expected[k]);
            signal += expected[k] * expected[k];
        }
    }
    return std::sqrt(noise / signal);
}

std::ptrdiff_t countOf(const Graph& graph, std::string_view op) {
    return std::ranges::count(graph.nodes(), op, &Node::op);
}

} // namespace

class TestQuantization : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aConvolutionalNetworkStaysClose() {
        const Net net = convolutional();
        const Given samples = net.samples(6);
        const LowerPrecision change = quantized(net, samples);
        QCOMPARE(change.convolutions, 2);
        QCOMPARE(change.products, 1);
        QCOMPARE(change.skipped, 0);
        const double error = relativeError(net, change, samples);
        QVERIFY2(error > 0 && error < 0.02, qPrintable(QString::number(error)));
        const Graph graph = after(net, change);
        QVERIFY(analyze(graph, simulatedMap(), Policy::strict, net.files.get()).mayRun());
        QCOMPARE(countOf(graph, "QLinearConv"), 2);
        QCOMPARE(countOf(graph, "MatMulInteger"), 1);
        // The Relu is the bound of c1, and the pool works on its bytes: only x and the input of y are
        // quantized.
        QCOMPARE(countOf(graph, "Relu"), 0);
        QCOMPARE(countOf(graph, "QuantizeLinear"), 2);
        QCOMPARE(graph.findByName("c1")->op, std::string("QLinearConv"));
        QVERIFY(graph.sourceOf({graph.findByName("pool in u8")->id, 0})->node == graph.findByName("c1")->id);
        // The result is still that of y, and the old weights have gone.
        QCOMPARE(graph.find(net.y)->op, std::string("Add"));
        QCOMPARE(graph.findByName("w2"), nullptr);
        QVERIFY(change.bytesAfter < 0.3 * change.bytesBefore);
    }

    void aPerceptronStaysClose() {
        for (const char* device : {"cpu", "cuda:0"}) {
            const Net net = perceptron(device);
            const Given samples = net.samples(4);
            const LowerPrecision change = quantized(net, samples);
            QCOMPARE(change.products, 2);
            const double error = relativeError(net, change, samples);
            QVERIFY2(error > 0 && error < 0.02, qPrintable(QString::number(error)));
            QCOMPARE(after(net, change).find(net.y)->name, std::string("y"));
        }
    }

    void undoGivesTheGraphBack() {
        for (const Net& net : {convolutional(), perceptron()}) {
            for (const bool bf16 : {false, true}) {
                const LowerPrecision change = bf16 ? castToBFloat16(net.g.graph(), net.setup(), net.hold())
                                                   : quantized(net, net.samples(1));
                Graph graph = after(net, change);
                QVERIFY(!(graph == net.g.graph()));
                graph.apply(change.delta.inverse());
                QVERIFY(graph == net.g.graph());
            }
        }
    }

    void aColumnOfZerosLeavesTheOthersAccurate() {
        Dice dice(9);
        Net net;
        net.x = net.g.node("Input", "x", "cpu", {{"shape", Ints{8, 24}}});
        Tensor w = dice.tensor(DType::f32, {24, 40}, -0.02, 0.02);
        for (std::size_t row = 0; row < 24; ++row) w.values<float>()[row * 40] = 0;
        net.y = net.g.node("MatMul", "y", "cpu", {}, {net.x, net.tensor("w", w)});
        const Given samples = net.samples(4);
        for (const bool perChannel : {true, false}) {
            const double error =
                relativeError(net, quantized(net, samples, {.perChannel = perChannel}), samples);
            QVERIFY2(error > 0 && error < 0.03, qPrintable(QString::number(error)));
        }
    }

    /// One column has weights that are 100 times as large as the others; the results are of one size again.
    void scalesPerChannelAreMoreAccurate() {
        Dice dice(8);
        Net net;
        net.x = net.g.node("Input", "x", "cpu", {{"shape", Ints{8, 24}}});
        Tensor w = dice.tensor(DType::f32, {24, 40}, -0.5, 0.5);
        std::vector<double> sizes(40, 1);
        for (std::size_t row = 0; row < 24; ++row) w.values<float>()[row * 40] *= 100;
        sizes[0] = 0.01;
        const NodeId h = net.g.node("MatMul", "h", "cpu", {}, {net.x, net.tensor("w", w)});
        net.y =
            net.g.node("Mul", "y", "cpu", {}, {h, net.tensor("sizes", tensorOf(DType::f32, {40}, sizes))});
        const Given samples = net.samples(4);
        const double perChannel = relativeError(net, quantized(net, samples), samples);
        const double perTensor = relativeError(net, quantized(net, samples, {.perChannel = false}), samples);
        QVERIFY2(perChannel < 0.02 && perTensor > 20 * perChannel,
                 qPrintable(QStringLiteral("%1 %2").arg(perChannel).arg(perTensor)));
    }

    /// Ranges on one side of 0, of one value, and of zeros only.
    void rangesIncludeZero() {
        const Net net = perceptron();
        for (const auto& [least, most] : {std::pair{3.0, 5.0}, {-5.0, -3.0}, {2.0, 2.0}}) {
            const Given samples = net.samples(2, least, most);
            QVERIFY(relativeError(net, quantized(net, samples), samples) < 0.03);
        }
        const Given zeros = net.samples(1, 0, 0);
        QVERIFY(relativeError(net, quantized(net, zeros), zeros) < 0.03); // the bias
    }

    /// Of 1,000 elements of x, one is 500 times as large as the others.
    void percentilesClipOutliers() {
        Dice dice(5);
        Net net;
        net.x = net.g.node("Input", "x", "cpu", {{"shape", Ints{40, 25}}});
        net.y = net.g.node("MatMul", "y", "cpu", {},
                           {net.x, net.tensor("w", dice.tensor(DType::f32, {25, 10}, -0.5, 0.5))});
        Sample sample = net.samples(1).read(0);
        sample.begin()->second.values<float>()[7] = 1000;
        const Given outlier({sample});
        const PortRef x{net.x, 0};
        const auto rangeAt = [&](double percentile) {
            return observeRanges(net.g.graph(), net.setup(), outlier, {}, percentile).at(x);
        };
        QCOMPARE(rangeAt(100).most, 1000.0F);
        QVERIFY(rangeAt(99).most < 3 && rangeAt(99).most > 1.5);
        QVERIFY(rangeAt(99).least >= -2 && rangeAt(99).least < -1.5);
        // The scale fits the other elements, as their samples show.
        const Given usual = net.samples(3);
        const double clipped = relativeError(net, quantized(net, outlier, {.percentile = 99}), usual);
        const double whole = relativeError(net, quantized(net, outlier), usual);
        QVERIFY2(clipped < 0.03 && whole > 10 * clipped,
                 qPrintable(QStringLiteral("%1 %2").arg(clipped).arg(whole)));
    }

    void theFirstAndTheLastLayerMayStay() {
        const Net net = convolutional();
        const Given samples = net.samples(3);
        const LowerPrecision change = quantized(net, samples, {.keepsFirstAndLast = true});
        QCOMPARE(change.convolutions, 1);
        QCOMPARE(change.products, 0);
        QCOMPARE(change.skipped, 2);
        const Graph graph = after(net, change);
        QCOMPARE(graph.findByName("c1")->op, std::string("Conv"));
        QCOMPARE(graph.find(net.y)->op, std::string("Gemm"));
        QCOMPARE(countOf(graph, "QLinearConv"), 1);
        QVERIFY(relativeError(net, change, samples) < relativeError(net, quantized(net, samples), samples));
        const Net small = perceptron(); // both of its layers
        const LowerPrecision none = quantized(small, small.samples(1), {.keepsFirstAndLast = true});
        QVERIFY(none.delta.empty());
        QCOMPARE(none.skipped, 2);
    }

    /// Its weights are 0, so that with their scale the bias would not fit 32 bits.
    void aDeadChannelKeepsItsBias() {
        Net net = convolutional(1e-30);
        const Given samples = net.samples(2);
        QVERIFY(relativeError(net, quantized(net, samples), samples) < 0.02);
    }

    void tensorsThatAreNotFiniteStay() {
        const Net net = perceptron();
        Sample sample = net.samples(1).read(0);
        sample.begin()->second.values<float>()[3] = std::numeric_limits<float>::infinity();
        const LowerPrecision change = quantized(net, Given({sample}));
        QCOMPARE(change.products, 0);
        QCOMPARE(change.skipped, 2);
        QVERIFY(change.delta.empty());
    }

    void otherConsumersKeepTheirTensors() {
        Net net = convolutional();
        const NodeId probe = net.g.node("Probe", "seen", "cpu", {}, {});
        net.g.connect(net.g.graph().findByName("relu")->id, probe, 0);
        const LowerPrecision change = quantized(net, net.samples(1));
        const Graph graph = after(net, change);
        const Node& relu = *graph.find(graph.sourceOf({probe, 0})->node);
        QCOMPARE(relu.name, std::string("relu"));
        QCOMPARE(relu.op, std::string("DequantizeLinear"));
    }

    void variableWeightsStay() {
        GraphMaker g;
        const NodeId a = g.node("Input", "a", "cpu", {{"shape", Ints{4, 4}}});
        const NodeId b = g.node("Input", "b", "cpu", {{"shape", Ints{4, 4}}});
        g.node("MatMul", "y", "cpu", {}, {a, b});
        const RunSetup setup{simulatedMap(), nullptr, Policy::strict};
        QVERIFY(tensorsToObserve(g.graph(), setup).empty());
        QCOMPARE(quantize(g.graph(), setup, {}, {}).skipped, 1);
        QCOMPARE(castToBFloat16(g.graph(), setup, {}).skipped, 1);
    }

    void aTrainingIsRefused() {
        const Clouds clouds;
        const Graph graph = clouds.learning(adam());
        const RunSetup setup{simulatedMap(), clouds.files, Policy::strict};
        QVERIFY_THROWS_EXCEPTION(Error, tensorsToObserve(graph, setup));
        QVERIFY_THROWS_EXCEPTION(Error, castToBFloat16(graph, setup, {}));
    }

    void bfloat16StaysClose() {
        for (const Net& net : {convolutional(), perceptron()}) {
            const Given samples = net.samples(3);
            const LowerPrecision change = castToBFloat16(net.g.graph(), net.setup(), net.hold());
            QVERIFY(change.products + change.convolutions > 1);
            QCOMPARE(change.bytesAfter, change.bytesBefore / 2);
            const double error = relativeError(net, change, samples);
            QVERIFY2(error > 0 && error < 0.01, qPrintable(QString::number(error)));
            const Graph graph = after(net, change);
            QCOMPARE(graph.find(net.y)->op, std::string("Cast"));
            QCOMPARE(graph.findByName("y in bf16")->op, std::string("Gemm"));
        }
    }

    void theLossIsMeasured() {
        const Net net = perceptron();
        const Given samples = net.samples(3);
        const LowerPrecision change = quantized(net, samples);
        const PrecisionLoss loss =
            comparePrecision(net.g.graph(), after(net, change), net.setup(), samples, {});
        QCOMPARE(loss.outputs.size(), std::size_t{1});
        const OutputLoss& y = loss.outputs[0];
        QCOMPARE(y.name, std::string("y"));
        QVERIFY(std::abs(y.relativeError - relativeError(net, change, samples)) < 1e-12);
        QVERIFY(std::abs(y.sqnr() + 20 * std::log10(y.relativeError)) < 1e-9);
        QVERIFY(y.maxError > 0 && y.agreement > 0.8 && y.agreement <= 1.0);
        QVERIFY(loss.nsBefore > 0 && loss.nsAfter > 0 && !loss.isModelled);
        const PrecisionLoss none = comparePrecision(net.g.graph(), net.g.graph(), net.setup(), samples, {});
        QCOMPARE(none.outputs[0].maxError, 0.0);
        QVERIFY(std::isinf(none.outputs[0].sqnr()));
        QCOMPARE(none.outputs[0].agreement, std::optional(1.0));
        OutputLoss fromZero;
        fromZero.relativeError = std::numeric_limits<double>::infinity();
        QVERIFY(fromZero.sqnr() < 0);
    }

    void itCanBeCancelled() {
        const Net net = perceptron();
        const auto stop = [] { return true; };
        QVERIFY_THROWS_EXCEPTION(Error, observeRanges(net.g.graph(), net.setup(), net.samples(2), stop));
    }
};

TWB_TEST_MAIN(TestQuantization)
#include "test_quantization.moc"
