#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"
#include "training/backward.h"

#include <cmath>
#include <functional>
#include <map>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// A graph with control flow, of tensors of f64.
struct Net {
    GraphMaker g;
    std::vector<NodeId> parameters;
    NodeId result = NodeId::none; ///< the output of the control op

    FrameId inner = FrameId::none, outer = FrameId::none; ///< a body, and the one around it

    Graph graph() const {
        Graph out = g.graph();
        if (inner == FrameId::none) return out;
        DeltaBuilder builder(out, "nest");
        Frame frame = *out.find(inner);
        frame.parent = outer;
        builder.change(frame);
        out.apply(builder.take());
        return out;
    }
    NodeId parameter(const std::string& name, const Shape& shape, const std::vector<double>& values) {
        parameters.push_back(constant(name, shape, values));
        return parameters.back();
    }
    NodeId constant(const std::string& name, const Shape& shape, const std::vector<double>& values) {
        return g.node("Constant", name, "cpu",
                      {{"shape", shape.dims()}, {"value", values}, {"dtype", "f64"}});
    }
    NodeId op(const std::string& name, const std::vector<NodeId>& inputs, const Attributes& attributes = {}) {
        return g.node(name, name, "cpu", attributes, inputs);
    }
    /// Whether an input near 0 is less than `than`: known only at run time.
    NodeId isLess(double than) {
        return op("Less",
                  {op("Input", {}, {{"shape", Ints{}}, {"dtype", "f64"}}), constant("than", {}, {than})});
    }
    NodeId carried(std::int64_t index, NodeId initial) {
        return op("Carried", {initial}, {{"index", index}});
    }
};

/// h = tanh(w · h + x) three times; the states are stacked, too.
Net loop() {
    Net net;
    const NodeId w = net.parameter("w", {2, 2}, {0.5, -0.3, 0.8, 0.2});
    const NodeId x = net.parameter("x", {2}, {0.1, -0.4});
    const NodeId initial = net.parameter("initial", {2}, {0.7, 0.9});
    const NodeId h = net.carried(0, initial);
    const NodeId product = net.op("MatMul", {w, h});
    const NodeId sum = net.op("Add", {product, x});
    const NodeId next = net.op("Tanh", {sum});
    net.result = net.op(
        "Loop", {}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}});
    net.g.connect(next, net.result, 3);
    net.g.connect(next, net.result, 4);
    net.g.body(net.result, "body", {h, product, sum, next});
    return net;
}

/// Two carried values that change places, and the number of the iteration.
Net swapping() {
    Net net;
    const NodeId a = net.carried(0, net.parameter("a0", {2}, {0.5, 1.2}));
    const NodeId b = net.carried(1, net.parameter("b0", {2}, {-0.3, 0.4}));
    const NodeId i = net.op("Iteration", {});
    const NodeId number = net.op("Cast", {i}, {{"to", "f64"}});
    const NodeId product = net.op("Mul", {a, b});
    const NodeId next = net.op("Add", {product, number});
    net.result = net.op(
        "Loop", {}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{2}}, {"num_outputs", std::int64_t{2}}});
    net.g.connect(b, net.result, 3);
    net.g.connect(next, net.result, 4);
    net.g.body(net.result, "body", {a, b, i, number, product, next});
    return net;
}

/// c = c · w + the columns of x, from last to first.
Net scan() {
    Net net;
    const NodeId x = net.parameter("x", {2, 3}, {1, 2, 3, 4, 5, 6});
    const NodeId w = net.parameter("w", {2}, {0.5, -0.8});
    const NodeId c = net.carried(0, net.constant("zero", {2}, {0, 0}));
    const NodeId column = net.op("ScanSlice", {x}, {{"axis", std::int64_t{1}}, {"reverse", true}});
    const NodeId product = net.op("Mul", {c, w});
    const NodeId next = net.op("Add", {product, column});
    net.result = net.op("Scan", {}, {{"carried", std::int64_t{1}}, {"num_outputs", std::int64_t{1}}});
    net.g.connect(next, net.result, 0);
    net.g.body(net.result, "body", {c, column, product, next});
    return net;
}

/// The products of the rows of x and w, each beside its row's square; both are stacked, the squares as
/// columns from last to first.
Net stackingScan() {
    Net net;
    const NodeId x = net.parameter("x", {3, 2}, {1, 2, 3, 4, 5, 6});
    const NodeId w = net.parameter("w", {2}, {0.5, -0.8});
    const NodeId row = net.op("ScanSlice", {x});
    const NodeId product = net.op("Mul", {row, w});
    const NodeId square = net.op("Mul", {row, row});
    net.result = net.op("Scan", {product, square},
                        {{"num_outputs", std::int64_t{2}},
                         {"scan_output_axes", Ints{0, -1}},
                         {"scan_output_directions", Ints{0, 1}}});
    net.g.body(net.result, "body", {row, product, square});
    return net;
}

/// Twice: x = x · w three times, then x = tanh x.
Net nested() {
    Net net;
    const NodeId w = net.parameter("w", {2}, {0.5, -0.8});
    const NodeId x = net.carried(0, net.parameter("x", {2}, {1.5, 0.7}));
    const NodeId y = net.carried(0, x);
    const NodeId product = net.op("Mul", {y, w});
    const NodeId inner = net.op("Loop", {}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    net.g.connect(product, inner, 3);
    const NodeId next = net.op("Tanh", {inner});
    net.result = net.op("Loop", {}, {{"M", std::int64_t{2}}, {"carried", std::int64_t{1}}});
    net.g.connect(next, net.result, 3);
    net.outer = net.g.body(net.result, "body", {x, inner, next});
    net.inner = net.g.body(inner, "body", {y, product});
    return net;
}

/// cond ? exp(x) : x · w. The condition is known before the run, or depends on an input.
Net branch(bool isTrue, bool isKnown) {
    Net net;
    const NodeId x = net.parameter("x", {2}, {0.4, -0.7});
    const NodeId w = net.parameter("w", {2}, {2, 3});
    NodeId cond = net.op("Constant", {}, {{"value", isTrue ? 1.0 : 0.0}, {"dtype", "bool"}});
    if (!isKnown) cond = net.isLess(isTrue ? 100 : -100);
    const NodeId a = net.op("Exp", {x});
    const NodeId b = net.op("Mul", {x, w});
    net.result = net.op("If", {cond, a, b});
    net.g.body(net.result, "then_branch", {a});
    net.g.body(net.result, "else_branch", {b});
    return net;
}

/// The sum of v · every output of the net, for fixed numbers v.
NodeId addLoss(Net& net) {
    const Analysis analysis = analyze(net.graph(), simulatedMap(), Policy::strict, nullptr);
    NodeId loss = NodeId::none;
    const auto& outputs = analysis.find(net.result)->outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        std::vector<double> v;
        for (std::int64_t k = 0; k < outputs[i]->shape.elementCount(); ++k)
            v.push_back(0.5 + 0.3 * static_cast<double>(k) + static_cast<double>(i));
        const NodeId product = net.op("Mul", {});
        net.g.connect(net.result, product, 0, static_cast<int>(i));
        net.g.connect(net.constant("v", outputs[i]->shape, v), product, 1);
        const NodeId sum = net.op("ReduceSum", {product}, {{"keepdims", false}});
        loss = loss == NodeId::none ? sum : net.op("Add", {loss, sum});
    }
    return loss;
}

std::vector<double> valuesAt(const Graph& graph, PortRef at) {
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(graph, map, Policy::strict, nullptr);
    CompileOptions options;
    options.keepAll = true;
    const RunResult result = runToEnd(compile(graph, analysis, map, nullptr, options), {});
    if (result.status != RunStatus::finished) throw std::runtime_error(result.errors.at(0).message);
    return valuesOf(*result.tensor(at));
}

} // namespace

Q_DECLARE_METATYPE(std::function<Net()>)

class TestBodyGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gradientsThroughBodiesAreThoseOfDifferences_data() {
        QTest::addColumn<std::function<Net()>>("make");
        using Make = std::function<Net()>;
        QTest::newRow("Loop") << Make(loop);
        QTest::newRow("Loop with two values") << Make(swapping);
        QTest::newRow("Scan") << Make(scan);
        QTest::newRow("Scan that stacks") << Make(stackingScan);
        QTest::newRow("nested Loops") << Make(nested);
        for (const bool isKnown : {true, false})
            for (const bool isTrue : {true, false})
                QTest::addRow("If %d %d", isKnown, isTrue) << Make([=] { return branch(isTrue, isKnown); });
    }
    void gradientsThroughBodiesAreThoseOfDifferences() {
        QFETCH(const std::function<Net()>, make);
        Net net = make();
        const NodeId loss = addLoss(net);
        const Graph graph = net.graph();
        const Analysis analysis = analyze(graph, simulatedMap(), Policy::strict, nullptr);
        QCOMPARE(analysis.errorCount(), std::size_t(0));
        for (const NodeId parameter : net.parameters) {
            DeltaBuilder backward(graph, "Add backward pass");
            std::vector<PortRef> gradient;
            try {
                gradient =
                    addBackward(backward, analysis, {loss, 0}, std::span(&parameter, 1), FrameId::none);
            } catch (const Error& e) { // the other branch
                QVERIFY2(QString::fromUtf8(e.what()).contains("does not depend"), e.what());
                continue;
            }
            const std::vector<double> got = valuesAt(backward.graph(), gradient[0]);
            std::vector<double> values = graph.find(parameter)->attributes.numbers("value");
            const auto lossAt = [&](std::size_t element, double step) {
                std::vector<double> moved = values;
                moved[element] += step;
                DeltaBuilder builder(graph, "");
                Node node = *graph.find(parameter);
                node.attributes.set("value", moved);
                builder.change(node);
                return valuesAt(builder.graph(), {loss, 0})[0];
            };
            for (std::size_t i = 0; i < values.size(); ++i) {
                constexpr double h = 1e-3;
                const double slope =
                    (8 * (lossAt(i, h) - lossAt(i, -h)) - (lossAt(i, 2 * h) - lossAt(i, -2 * h))) / (12 * h);
                QVERIFY2(std::abs(got[i] - slope) <= 1e-6 * std::max(1.0, std::abs(slope)),
                         qPrintable(QStringLiteral("%1 instead of %2").arg(got[i]).arg(slope)));
            }
        }
    }

    void aBodyThatCannotBeComputedAgainIsRefused() {
        Net net;
        const NodeId x = net.parameter("x", {2}, {1, 2});
        const NodeId h = net.carried(0, x);
        const NodeId dropped = net.op("Dropout", {h}, {{"training_mode", true}});
        net.result = net.op("Loop", {}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        net.g.connect(dropped, net.result, 3);
        net.g.body(net.result, "body", {h, dropped});
        QCOMPARE(refusal(net),
                 QStringLiteral("cannot differentiate Loop \"Loop\": its body has the op Dropout, "
                                "which the backward pass cannot recompute, because it draws random numbers, "
                                "updates a tensor or depends on the iteration"));
    }
    void aConditionThatIsNotKnownIsRefused() {
        Net net;
        const NodeId h = net.carried(0, net.parameter("x", {2}, {1, 2}));
        const NodeId next = net.op("Neg", {h});
        const NodeId goes = net.isLess(100);
        net.result =
            net.op("Loop", {NodeId::none, goes}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        net.g.connect(next, net.result, 3);
        net.g.body(net.result, "body", {h, next});
        QCOMPARE(refusal(net), QStringLiteral("cannot differentiate Loop \"Loop\": cond of Loop is "
                                              "known only at run time; connect a Constant"));
    }
    void aParameterInABodyIsRefused() {
        Net net;
        const NodeId h = net.carried(0, net.constant("x", {2}, {1, 2}));
        const NodeId w = net.parameter("w", {2}, {1, 2});
        const NodeId next = net.op("Mul", {h, w});
        net.result = net.op("Loop", {}, {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        net.g.connect(next, net.result, 3);
        net.g.body(net.result, "body", {h, w, next});
        QCOMPARE(refusal(net),
                 QStringLiteral("the parameter Constant \"w\" is in a body of Loop \"Loop\": move it "
                                "out of the body"));
    }

private:
    /// The sentence with which the backward pass is refused.
    static QString refusal(Net& net) {
        const NodeId loss = addLoss(net);
        const Graph graph = net.graph();
        const Analysis analysis = analyze(graph, simulatedMap(), Policy::strict, nullptr);
        DeltaBuilder builder(graph, "");
        try {
            addBackward(builder, analysis, {loss, 0}, net.parameters, FrameId::none);
        } catch (const Error& e) {
            return QString::fromStdString(e.what());
        }
        return {};
    }
};

TWB_TEST_MAIN(TestBodyGradients)
#include "test_body_gradients.moc"
