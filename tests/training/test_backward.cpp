#include "support/graphs.h"
#include "support/test_main.h"
#include "training/backward.h"

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// A layer on cuda:0 whose weight and input are created on cpu and copied.
struct Layer {
    GraphMaker g;
    NodeId x = g.node("Input", "x", "cpu", {{"shape", Ints{2, 3}}});
    NodeId w = g.node("RandomNormal", "w", "cpu", {{"shape", Ints{3, 4}}});
    NodeId there = g.node("To", "x there", "cuda:0", {}, {x});
    NodeId copied = g.node("To", "w there", "cuda:0", {}, {w});
    NodeId product = g.node("MatMul", "fc", "cuda:0", {}, {there, copied});
    NodeId loss = g.node("ReduceMean", "loss", "cuda:0", {{"keepdims", false}}, {product});

    Analysis analysis() const { return analyze(g.graph(), simulatedMap(), Policy::strict, nullptr); }
    struct Backward {
        Graph graph; ///< with the backward pass
        std::vector<PortRef> gradients;
    };
    Backward backward(NodeId from, std::vector<NodeId> parameters) const {
        DeltaBuilder builder(g.graph(), "Add backward pass");
        std::vector<PortRef> gradients =
            addBackward(builder, analysis(), {from, 0}, parameters, FrameId::none);
        return {builder.graph(), std::move(gradients)};
    }
    /// The sentence with which the backward pass is refused.
    QString refusal(NodeId from, std::vector<NodeId> parameters) const {
        try {
            backward(from, std::move(parameters));
        } catch (const Error& e) {
            return QString::fromStdString(e.what());
        }
        return {};
    }
};

} // namespace

class TestBackward : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Each node stands on the lane of its forward node; the gradient of a copy is a copy back.
    void aGradientGoesBackOverACopy() {
        const Layer layer;
        const auto [graph, gradients] = layer.backward(layer.loss, {layer.w});
        const Node& last = *graph.find(gradients[0].node);
        QCOMPARE(last.op, std::string("To"));
        QCOMPARE(graph.find(last.lane)->device, Device::cpu());
        const Node& product = *graph.find(graph.sourceOf({last.id, 0})->node);
        QCOMPARE(product.op, std::string("MatMul"));
        QCOMPARE(product.name, std::string("fc grad 2"));
        QCOMPARE(graph.find(product.lane)->device, Device::cuda(0));
        QCOMPARE(product.forward, layer.product);
        QVERIFY(!analyze(graph, simulatedMap(), Policy::strict, nullptr).hasErrors());
    }

    /// The gradients of x and of its copy are not computed, since nobody asked for them.
    void onlyWhatIsAskedForIsComputed() {
        const Layer layer;
        const auto [graph, gradients] = layer.backward(layer.loss, {layer.w});
        int products = 0;
        for (const Node& node : graph.nodes()) products += node.op == "MatMul";
        QCOMPARE(products, 2);
    }

    void aTensorReadTwiceGetsTheSum() {
        Layer layer;
        const NodeId twice = layer.g.node("Mul", "square", "cpu", {}, {layer.x, layer.x});
        const NodeId loss = layer.g.node("ReduceSum", "sum", "cpu", {{"keepdims", false}}, {twice});
        const auto [graph, gradients] = layer.backward(loss, {layer.x});
        QCOMPARE(graph.find(gradients[0].node)->op, std::string("Sum"));
    }

    void aLossThatIsNoScalarIsRefused() {
        const Layer layer;
        QCOMPARE(layer.refusal(layer.product, {layer.w}),
                 QStringLiteral(
                     "the loss MatMul \"fc\" must be a floating-point scalar, but is f32 2×4: reduce it to a "
                     "scalar, for example with ReduceMean"));
    }

    void aParameterThatDoesNotReachTheLossIsRefused() {
        Layer layer;
        const NodeId other = layer.g.node("Ones", "other", "cpu", {{"shape", Ints{2}}});
        QCOMPARE(
            layer.refusal(layer.loss, {layer.w, other}),
            QStringLiteral("the loss ReduceMean \"loss\" does not depend on the parameter Ones \"other\""));
    }

    /// Through indices a loss does not change with small changes of a parameter.
    void aParameterThatIsOnlyReadForIndicesIsRefused() {
        Layer layer;
        const NodeId best = layer.g.node("ArgMax", "best", "cpu", {}, {layer.w});
        const NodeId number = layer.g.node("Cast", "number", "cpu", {{"to", "f32"}}, {best});
        const NodeId loss = layer.g.node("ReduceSum", "sum", "cpu", {{"keepdims", false}}, {number});
        QCOMPARE(
            layer.refusal(loss, {layer.w}),
            QStringLiteral("the loss ReduceSum \"sum\" does not depend on the parameter RandomNormal \"w\""));
    }

    void anOpWithoutAGradientIsNamed() {
        Layer layer;
        const NodeId opaque = layer.g.node(
            "Opaque", "custom", "cpu",
            {{"outputs", std::vector<std::string>{"f32[]"}}, {"num_outputs", std::int64_t{1}}}, {layer.w});
        QCOMPARE(
            layer.refusal(opaque, {layer.w}),
            QStringLiteral("cannot differentiate Opaque \"custom\": the op is not known to this program"));
    }

    /// A node of `op` whose first input and parameter is "p", and whose summed first output is the loss.
    static QString refusalOf(const char* op, const Attributes& attributes, const Shape& shape,
                             const std::vector<Shape>& others) {
        Layer layer;
        std::vector<NodeId> inputs{layer.g.node("RandomNormal", "p", "cpu", {{"shape", shape.dims()}})};
        for (const Shape& other : others)
            inputs.push_back(layer.g.node("Input", "other", "cpu", {{"shape", other.dims()}}));
        const NodeId node = layer.g.node(op, "node", "cpu", attributes, inputs);
        const NodeId loss = layer.g.node("ReduceSum", "sum", "cpu", {{"keepdims", false}}, {node});
        return layer.refusal(loss, {inputs[0]});
    }
    /// The loss is the sum of the first output, and W the parameter.
    static std::vector<std::string> backwardOf(const char* op, const std::vector<Shape>& inputs) {
        Layer layer;
        std::vector<NodeId> from;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            from.push_back(inputs[i].rank() == 0
                               ? NodeId::none
                               : layer.g.node(i == 1 ? "RandomNormal" : "Input", "x" + std::to_string(i),
                                              "cpu", {{"shape", inputs[i].dims()}}));
        const NodeId node = layer.g.node(op, "node", "cpu", {}, from);
        const NodeId loss = layer.g.node("ReduceSum", "sum", "cpu", {{"keepdims", false}}, {node});
        std::vector<std::string> ops;
        const Layer::Backward made = layer.backward(loss, {from[1]});
        for (const Node& each : made.graph.nodes())
            if (each.forward != NodeId::none) ops.push_back(each.op);
        return ops;
    }
    void theGradientOfARecurrentOpIsOneNode() {
        const auto lstm = [](std::int64_t length) {
            return backwardOf("LSTM", {{length, 1, 2}, {1, 8, 2}, {1, 8, 2}});
        };
        const std::vector<std::string> ops = lstm(3);
        QCOMPARE(std::ranges::count(ops, "LSTMGrad"), 1);
        QVERIFY(ops.size() < 8);
        QCOMPARE(lstm(5000), ops);
        QCOMPARE(lstm(0), ops);
    }
    void aGradientThatWouldNeedTooManyNodesIsRefused() {
        const auto lstmGrad = [](std::int64_t length) {
            try {
                backwardOf("LSTMGrad",
                           {{length, 1, 2}, {1, 8, 2}, {1, 8, 2}, {}, {}, {}, {}, {}, {length, 1, 1, 2}});
            } catch (const Error& e) {
                return QString::fromStdString(e.what());
            }
            return QString();
        };
        QCOMPARE(lstmGrad(100), QString());
        QCOMPARE(
            lstmGrad(2000),
            QStringLiteral("cannot differentiate LSTMGrad \"node\": its gradient unrolls 1 to 512 steps, "
                           "but the sequence has 2000; cut the sequence into shorter ones"));
        QCOMPARE(
            refusalOf("Det", {}, {33, 33}, {}),
            QStringLiteral("cannot differentiate Det \"node\": the matrices have 33 rows, but the gradient "
                           "takes at most 32"));
    }
};

TWB_TEST_MAIN(TestBackward)
#include "test_backward.moc"
