#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

bool liesChannelsLast(const Plan& plan, NodeId node) {
    return plan.values[plan.valueOf({node, 0})].channelsLast;
}

NodeId randomNode(GraphMaker& g, const std::string& name, const Ints& shape, std::int64_t seed,
                  const std::string& device = "cpu") {
    return g.node("RandomNormal", name, device, {{"shape", shape}, {"seed", seed}});
}

/// A convolution that preserves spatial sizes.
NodeId conv(GraphMaker& g, const std::string& name, NodeId x, std::int64_t ins, std::int64_t outs,
            std::int64_t kernel = 3, std::int64_t groups = 1, const std::string& device = "cpu") {
    const NodeId w = randomNode(g, name + ".weight", {outs, ins / groups, kernel, kernel},
                                static_cast<std::int64_t>(name.size()) + outs, device);
    return g.node("Conv", name, device, {{"pads", Ints(4, kernel / 2)}, {"group", groups}}, {x, w});
}

/// Keeps a result row-major without changing it.
NodeId asItIs(GraphMaker& g, NodeId x) {
    return g.node("MaxPool", "end", "cpu", {{"kernel_shape", Ints{1, 1}}}, {x});
}

/// Compares the values of `end` between a plan with chosen layouts and one without; empty if equal.
QString differenceOfLayouts(const GraphMaker& g, NodeId end, const DeviceMap& map) {
    const RunResult plain = runToEnd(planOf(g.graph(), map, {.keepAll = true}), {});
    const RunResult chosen = runToEnd(planOf(g.graph(), map, {.keep = {PortRef{end, 0}}}), {.iterations = 3});
    const Tensor* expected = plain.tensor({end, 0});
    const Tensor* got = chosen.tensor({end, 0});
    if (!expected || !got) return QStringLiteral("there is no result");
    const Tensor wanted = toHost(*expected, map);
    const std::vector<double> values = valuesOf(wanted);
    double largest = 0;
    for (double value : values)
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    // The order of summation differs.
    return difference(toHost(*got, map), wanted.shape(), values, {1e-4, 1e-6 * largest});
}

} // namespace

class TestLayoutPlan : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void convolutionsPassOnChannelsLast();
    void keptAndCopiedResultsAreRowMajor();
    void opsWithSecondResultsReadRowMajor();
    void pointwiseOpsSeeTheSameElements_data();
    void pointwiseOpsSeeTheSameElements();
    void operandsMayBroadcast();
    void othersKeepTheirMeaning_data();
    void othersKeepTheirMeaning();
    void transposesOfChannelsMoveNothing();
    void transposesOfSequencesMoveNothing();
    void otherTransposesReadRowMajor();
    void transposesOfSharedTensorsCopy();
    void layoutsDoNotTakeEachOthersPlace();
    void simulatedDevicesToo();
    void weightsAreThoseOfTheRun();
};

void TestLayoutPlan::convolutionsPassOnChannelsLast() {
    GraphMaker g;
    const NodeId x = randomNode(g, "x", {2, 3, 9, 7}, 1);
    const NodeId a = conv(g, "a", x, 3, 16);
    const NodeId relu = g.node("Relu", "relu", "cpu", {}, {a});
    const NodeId b = conv(g, "bb", relu, 16, 16, 3, 16);
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {b, relu});
    const NodeId mean = g.node("GlobalAveragePool", "mean", "cpu", {}, {sum});
    const NodeId flat = g.node("Flatten", "flat", "cpu", {}, {mean});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{flat, 0}}});
    for (NodeId node : {a, relu, b, sum}) QVERIFY(liesChannelsLast(*plan, node));
    for (NodeId node : {x, mean, flat}) QVERIFY(!liesChannelsLast(*plan, node));
    QCOMPARE(differenceOfLayouts(g, flat, simulatedMap()), QString());
}

void TestLayoutPlan::keptAndCopiedResultsAreRowMajor() {
    GraphMaker g;
    const NodeId x = randomNode(g, "x", {2, 3, 9, 7}, 1);
    const NodeId a = conv(g, "a", x, 3, 16);
    const NodeId b = conv(g, "bb", a, 16, 16);
    const NodeId c = conv(g, "ccc", b, 16, 16);
    const NodeId flat = g.node("Flatten", "flat", "cpu", {}, {c});
    const NodeId away = g.node("To", "away", "cuda:0", {}, {b});
    const auto plan =
        planOf(g.graph(), simulatedMap(), {.keep = {PortRef{a, 0}, PortRef{flat, 0}, PortRef{away, 0}}});
    QVERIFY(!liesChannelsLast(*plan, a)); // kept
    QVERIFY(!liesChannelsLast(*plan, b)); // copied to another device
    QVERIFY(!liesChannelsLast(*plan, c)); // Flatten requires row-major
    QCOMPARE(differenceOfLayouts(g, flat, simulatedMap()), QString());
}

void TestLayoutPlan::opsWithSecondResultsReadRowMajor() {
    GraphMaker g;
    const NodeId x = randomNode(g, "x", {2, 3, 8, 8}, 1);
    const NodeId a = conv(g, "a", x, 3, 16);
    const NodeId b = conv(g, "bb", x, 3, 16);
    const Attributes halves{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    const NodeId plain = conv(g, "ccc", g.node("MaxPool", "plain", "cpu", halves, {a}), 16, 16);
    const NodeId twice = g.node("Add", "twice", "cpu", {}, {b, b});
    const NodeId pool = g.node("MaxPool", "pool", "cpu", halves, {twice});
    const NodeId both = g.node("Add", "both", "cpu", {}, {plain, pool});
    const NodeId flat = g.node("Flatten", "flat", "cpu", {}, {both});
    const NodeId places = g.node("Cast", "places", "cpu", {{"to", "f32"}}, {});
    g.connect(pool, places, 0, 1);
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{flat, 0}, PortRef{places, 0}}});
    QVERIFY(liesChannelsLast(*plan, a));
    QVERIFY(!liesChannelsLast(*plan, twice)); // its pooling has indices, too
    QVERIFY(!liesChannelsLast(*plan, b));     // pointwise ops keep the layout
    QCOMPARE(differenceOfLayouts(g, flat, simulatedMap()), QString());
    QCOMPARE(differenceOfLayouts(g, places, simulatedMap()), QString());
}

void TestLayoutPlan::pointwiseOpsSeeTheSameElements_data() {
    QTest::addColumn<QString>("name");
    for (const Op& op : opTable())
        if (op.channelsLast == ChannelsLast::pointwise && op.outputs[0].types.contains(DType::f32))
            QTest::newRow(op.name.c_str()) << QString::fromStdString(op.name);
}

/// Between two convolutions, every pointwise op gives the same result as on row-major tensors.
void TestLayoutPlan::pointwiseOpsSeeTheSameElements() {
    QFETCH(QString, name);
    const Op& op = *findOp(name.toStdString());
    GraphMaker g;
    std::vector<NodeId> inputs;
    for (const PortSpec& port : op.inputs) {
        if (port.hostValue || port.optional) break;
        const std::string own = "x" + std::to_string(inputs.size());
        const NodeId x = randomNode(g, own, {2, 3, 5, 4}, static_cast<std::int64_t>(inputs.size()) + 1);
        // Values within every function's domain.
        const NodeId made =
            g.node("Sigmoid", own + " in 0 … 1", "cpu", {}, {conv(g, own + ".conv", x, 3, 8)});
        inputs.push_back(port.types.contains(DType::f32) ? made
                                                         : g.node("Greater", own + " holds", "cpu", {},
                                                                  {made, inputs.empty() ? made : x}));
    }
    Attributes attributes = requiredAttributes(op);
    if (op.name == "Mod") attributes.set("fmod", true);
    const NodeId node = g.node(op.name, "node", "cpu", attributes, inputs);
    const NodeId end = asItIs(g, node);
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QVERIFY(liesChannelsLast(*plan, node));
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

void TestLayoutPlan::operandsMayBroadcast() {
    for (const Ints& shape : {Ints{8, 1, 1}, Ints{4}, Ints{1, 8, 5, 1}, Ints{2, 1, 5, 4}, Ints{}}) {
        GraphMaker g;
        const NodeId a = conv(g, "a", randomNode(g, "x", {2, 3, 5, 4}, 1), 3, 8);
        const NodeId other = randomNode(g, "other", shape, 2);
        const NodeId product = g.node("Mul", "product", "cpu", {}, {a, other});
        const NodeId sum = g.node("Add", "sum", "cpu", {}, {other, product});
        const NodeId end = asItIs(g, sum);
        QVERIFY(liesChannelsLast(*planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}}), sum));
        QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
    }
}

void TestLayoutPlan::othersKeepTheirMeaning_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("kind");
    int kind = 0;
    for (const char* name : {"MaxPool", "MaxPool, wide", "AveragePool", "LpPool", "GlobalAveragePool",
                             "BatchNormalization", "Concat", "Conv, odd", "Conv, grouped"})
        QTest::newRow(name) << QString(name) << kind++;
}

void TestLayoutPlan::othersKeepTheirMeaning() {
    QFETCH(QString, name);
    GraphMaker g;
    const NodeId a = conv(g, "a", randomNode(g, "x", {2, 3, 11, 9}, 1), 3, 6);
    const NodeId b = conv(g, "bb", a, 6, 6, 1);
    const auto channels = [&](const std::string& own, std::int64_t seed) {
        return g.node("Sigmoid", own, "cpu", {}, {randomNode(g, own + " made", {6}, seed)});
    };
    const std::string op = name.section(',', 0, 0).toStdString();
    NodeId node;
    if (name == "MaxPool, wide" || op == "LpPool")
        node =
            g.node(op, "node", "cpu",
                   {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}}, {b});
    else if (op == "MaxPool" || op == "AveragePool")
        node = g.node(op, "node", "cpu", {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{2, 1}}}, {b});
    else if (op == "BatchNormalization")
        node =
            g.node(op, "node", "cpu", {},
                   {b, channels("scale", 3), channels("bias", 4), channels("mean", 5), channels("var", 6)});
    else if (op == "Concat")
        node = g.node(op, "node", "cpu", {{"axis", std::int64_t{1}}}, {b, a, b});
    else if (name == "Conv, odd")
        node = conv(g, "node", b, 6, 5, 3);
    else if (op == "Conv")
        node = conv(g, "node", b, 6, 12, 3, 3);
    else
        node = g.node(op, "node", "cpu", {}, {b});
    const NodeId end = op == "GlobalAveragePool" ? node : asItIs(g, node);
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QVERIFY(liesChannelsLast(*plan, b));
    QVERIFY(liesChannelsLast(*plan, node) || op == "GlobalAveragePool");
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

/// The channels become the last axis, for a normalization, and axis 1 again, for a convolution.
void TestLayoutPlan::transposesOfChannelsMoveNothing() {
    GraphMaker g;
    const NodeId a = conv(g, "a", randomNode(g, "x", {2, 3, 5, 4}, 1), 3, 8);
    const NodeId b = conv(g, "bb", a, 8, 8, 3, 8);
    const NodeId last = g.node("Transpose", "last", "cpu", {{"perm", Ints{0, 2, 3, 1}}}, {b});
    const NodeId shares = g.node("Softmax", "shares", "cpu", {{"axis", std::int64_t{-1}}}, {last});
    const NodeId back = g.node("Transpose", "back", "cpu", {{"perm", Ints{0, -1, 1, 2}}}, {shares});
    const NodeId scaled = g.node("Mul", "scaled", "cpu", {}, {randomNode(g, "scale", {8, 1, 1}, 2), back});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {scaled, a});
    const NodeId end = asItIs(g, conv(g, "ccc", sum, 8, 8));
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    for (NodeId node : {a, b, back, scaled, sum}) QVERIFY(liesChannelsLast(*plan, node));
    for (NodeId node : {last, shares}) QVERIFY(!liesChannelsLast(*plan, node));
    QCOMPARE(stepNamed(*plan, "last").inPlaceOf, plan->valueOf({b, 0}));
    QCOMPARE(stepNamed(*plan, "back").inPlaceOf, plan->valueOf({shares, 0}));
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

/// With three axes, one permutation does both.
void TestLayoutPlan::transposesOfSequencesMoveNothing() {
    GraphMaker g;
    const NodeId x = g.node("Softmax", "x", "cpu", {}, {randomNode(g, "made", {2, 9, 6}, 1)});
    const NodeId swapped = g.node("Transpose", "swapped", "cpu", {{"perm", Ints{0, 2, 1}}}, {x});
    const NodeId w = randomNode(g, "w", {8, 6, 3}, 2);
    const NodeId y = g.node("Conv", "y", "cpu", {{"pads", Ints{1, 1}}}, {swapped, w});
    const NodeId back = g.node("Transpose", "back", "cpu", {{"perm", Ints{0, 2, 1}}}, {y});
    const NodeId end = g.node("Softmax", "end", "cpu", {}, {back});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    for (NodeId node : {swapped, y}) QVERIFY(liesChannelsLast(*plan, node));
    QVERIFY(!liesChannelsLast(*plan, back));
    QCOMPARE(stepNamed(*plan, "swapped").inPlaceOf, plan->valueOf({x, 0}));
    QCOMPARE(stepNamed(*plan, "back").inPlaceOf, plan->valueOf({y, 0}));
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

void TestLayoutPlan::otherTransposesReadRowMajor() {
    for (const Ints& perm : {Ints{0, 3, 2, 1}, Ints{1, 0, 2, 3}, Ints{0, 1, 3, 2}, Ints{3, 2, 1, 0}}) {
        GraphMaker g;
        const NodeId a = conv(g, "a", randomNode(g, "x", {2, 3, 5, 8}, 1), 3, 8);
        const NodeId moved = g.node("Transpose", "moved", "cpu", {{"perm", perm}}, {a});
        const NodeId end = asItIs(g, moved);
        const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
        QVERIFY(!liesChannelsLast(*plan, a));
        QVERIFY(!liesChannelsLast(*plan, moved));
        QCOMPARE(stepNamed(*plan, "moved").inPlaceOf, kNone);
        QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
    }
}

/// A later consumer of the convolution's result needs it after the consumer of the transposed one has
/// written.
void TestLayoutPlan::transposesOfSharedTensorsCopy() {
    GraphMaker g;
    const NodeId a = conv(g, "a", randomNode(g, "x", {2, 3, 5, 4}, 1), 3, 8);
    const NodeId last = g.node("Transpose", "last", "cpu", {{"perm", Ints{0, 2, 3, 1}}}, {a});
    const NodeId negative = g.node("Neg", "negative", "cpu", {}, {last});
    const NodeId back = g.node("Transpose", "back", "cpu", {{"perm", Ints{0, 3, 1, 2}}}, {negative});
    const NodeId end = asItIs(g, g.node("Mul", "product", "cpu", {}, {back, a}));
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QVERIFY(liesChannelsLast(*plan, a));
    QCOMPARE(stepNamed(*plan, "last").inPlaceOf, kNone);
    QCOMPARE(stepNamed(*plan, "back").inPlaceOf, plan->valueOf({negative, 0}));
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

void TestLayoutPlan::layoutsDoNotTakeEachOthersPlace() {
    // "plain" is computed in every iteration and has no other consumer, so Add could overwrite it.
    GraphMaker g;
    const NodeId x = randomNode(g, "x", {2, 8, 5, 4}, 1);
    const NodeId a = conv(g, "a", x, 8, 8);
    const NodeId plain = g.node("Softmax", "plain", "cpu", {{"axis", std::int64_t{1}}}, {x});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {plain, a});
    const NodeId end = asItIs(g, sum);
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QVERIFY(liesChannelsLast(*plan, sum));
    QVERIFY(!liesChannelsLast(*plan, plain));
    QCOMPARE(stepNamed(*plan, "sum").inPlaceOf, plan->valueOf({a, 0}));
    QCOMPARE(differenceOfLayouts(g, end, simulatedMap()), QString());
}

void TestLayoutPlan::simulatedDevicesToo() {
    GraphMaker g;
    const NodeId x = randomNode(g, "x", {2, 3, 9, 7}, 1, "cuda:0");
    const NodeId a = conv(g, "a", x, 3, 16, 3, 1, "cuda:0");
    const NodeId b = conv(g, "bb", a, 16, 16, 3, 1, "cuda:0");
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{b, 0}}});
    QVERIFY(liesChannelsLast(*plan, a));
    QCOMPARE(differenceOfLayouts(g, b, simulatedMap()), QString());
}

/// Packed weights live until their run ends: the executor's next run uses the parameter's new content.
void TestLayoutPlan::weightsAreThoseOfTheRun() {
    Executor executor;
    std::vector<std::vector<float>> results;
    for (const float value : {1.0F, 2.0F, 1.0F}) {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{1, 16, 9, 9}}});
        const NodeId w = g.node("Full", "w", "cpu", {{"shape", Ints{16, 16, 3, 3}}, {"value", value}});
        const NodeId y = asItIs(g, g.node("Conv", "conv", "cpu", {}, {x, w}));
        Recorder recorder;
        executor.start(planOf(g.graph(), simulatedMap(), {.keep = {PortRef{y, 0}}}), {.iterations = 2},
                       recorder);
        executor.wait();
        results.push_back(floats(recorder.result, y, simulatedMap()));
        QCOMPARE(results.back().size(), std::size_t{784});
        for (float element : results.back()) QCOMPARE(element, 144 * value);
    }
}

TWB_TEST_MAIN(TestLayoutPlan)
#include "test_layout_plan.moc"
