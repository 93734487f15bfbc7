#include "gradient_cases.h"
#include "ops/gradient.h"
#include "ops/op_table.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"
#include "training/backward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// Different numbers between the bounds, in random order. Where the bounds are -b and b, none is near 0; no
/// two of different operands are near each other, so that no extreme ties.
Tensor spread(const GradientOperand& operand, std::size_t number, std::mt19937& random) {
    if (!operand.given.empty()) return tensorOf(operand.dtype, operand.shape, operand.given);
    std::vector<double> values(static_cast<std::size_t>(operand.shape.elementCount()));
    const double step = (operand.high - operand.low) / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            operand.low + step * (static_cast<double>(i) + 0.3 + 0.11 * static_cast<double>(number % 4));
    std::shuffle(values.begin(), values.end(), random);
    return tensorOf(operand.dtype, operand.shape, values);
}

using Values = std::map<PortRef, Tensor>;

/// A fault in the backward pass that the comparison must see.
enum class Mutant { none, firstOfSum, lastOfAdds };

/// The elements at the start of the axes over which an op sums.
Tensor firstOfSum(const Tensor& x, const Attributes& attributes, const Tensor& sum) {
    Ints axes(static_cast<std::size_t>(x.shape().rank()));
    std::iota(axes.begin(), axes.end(), 0);
    if (attributes.has("axes")) axes = attributes.integers("axes");
    const Tensor first = runOp(
        "Slice", {{"starts", Ints(axes.size(), 0)}, {"ends", Ints(axes.size(), 1)}, {"axes", axes}}, {x})[0];
    return tensorOf(x.dtype(), sum.shape(), valuesOf(first));
}

/// The tensors of a graph whose sources have these values, by the host kernels.
Values evaluate(const Graph& graph, const Analysis& analysis, Values values, Mutant mutant = Mutant::none) {
    for (const NodeFacts& facts : analysis.nodes) {
        if (values.contains({facts.id, 0})) continue;
        std::vector<Tensor> inputs;
        for (const auto& from : facts.inputs) inputs.push_back(from ? values.at(*from) : Tensor());
        const Node& node = *graph.find(facts.id);
        std::vector<Tensor> outputs = runOp(node.op, node.attributes, inputs);
        const bool isBackward = node.forward != NodeId::none;
        if (isBackward && mutant == Mutant::lastOfAdds && node.op == "Sum") outputs = {inputs.back()};
        if (isBackward && mutant == Mutant::firstOfSum && node.op == "ReduceSum")
            outputs = {firstOfSum(inputs[0], node.attributes, outputs[0])};
        for (std::size_t i = 0; i < outputs.size(); ++i)
            values[{facts.id, static_cast<std::int32_t>(i)}] = outputs[i];
    }
    return values;
}

/// The product of each floating output of an op with fixed numbers, summed: a loss whose gradient is the
/// vector-Jacobian product. Each operand is the sum of two parameters, one of them a scalar, and is also read
/// by a second summand of the loss. The backward pass of each op thus sums over a broadcast and adds up.
struct Problem {
    GraphMaker maker;
    Values values;
    std::vector<NodeId> parameters;
    NodeId loss = NodeId::none;
    bool isCoarse = false; ///< computed in f32
    bool isBroadcast = false;

    explicit Problem(const GradientCase& c, unsigned seed) {
        std::mt19937 random(seed);
        std::vector<NodeId> inputs;
        for (std::size_t i = 0; i < c.operands.size(); ++i) {
            const GradientOperand& operand = c.operands[i];
            if (!operand.isConnected) {
                inputs.push_back(NodeId::none);
                continue;
            }
            const Tensor value = spread(operand, i, random);
            NodeId input = source("x" + std::to_string(i), value, operand.isConstant);
            if (operand.isParameter()) {
                const NodeId shift = source("shift", tensorOf(operand.dtype, {}, {0}));
                parameters.insert(parameters.end(), {input, shift});
                isBroadcast = isBroadcast || value.elementCount() > 1;
                input = maker.node("Add", "shifted", "cpu", {}, {input, shift});
                addToLoss(input, 0, value.type(), random);
            }
            inputs.push_back(input);
        }
        const NodeId node = maker.node(c.op, "op", "cpu", c.attributes, inputs);
        const Analysis analysis = analyzed();
        const auto& outputs = analysis.find(node)->outputs;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const Op& op = *analysis.find(node)->op;
            const bool hasMoments = op.name == "BatchNormalization" || op.name == "LayerNormalization";
            const bool isExtra = hasMoments && i > 0; // they have no gradient
            if (!isExtra && outputs[i] && isFloating(outputs[i]->dtype))
                addToLoss(node, static_cast<int>(i), *outputs[i], random);
        }
    }

    void addToLoss(NodeId from, int output, const TensorType& type, std::mt19937& random) {
        isCoarse = isCoarse || type.dtype != DType::f64;
        const NodeId weight = source(
            "v", spread({type.shape, 0.5, 1.5, {}, type.dtype}, static_cast<std::size_t>(output), random));
        const NodeId product = maker.node("Mul", "product", "cpu", {}, {});
        maker.connect(from, product, 0, output);
        maker.connect(weight, product, 1);
        const NodeId wide = maker.node("Cast", "wide", "cpu", {{"to", "f64"}}, {product});
        const NodeId sum = maker.node("ReduceSum", "sum", "cpu", {{"keepdims", false}}, {wide});
        loss = loss == NodeId::none ? sum : maker.node("Add", "loss", "cpu", {}, {loss, sum});
    }

    NodeId source(const std::string& name, const Tensor& value, bool isConstant = false) {
        Attributes attributes{{"shape", value.shape().dims()},
                              {"dtype", std::string(twb::name(value.dtype()))}};
        if (isConstant) attributes.set("value", valuesOf(value));
        const NodeId id = maker.node(isConstant ? "Constant" : "Input", name, "cpu", attributes);
        values[{id, 0}] = value;
        return id;
    }
    Analysis analyzed() const { return analyze(maker.graph(), simulatedMap(), Policy::strict, nullptr); }
    double lossAt(const Analysis& analysis, const Values& at) const {
        return evaluate(maker.graph(), analysis, at).at({loss, 0}).at(0);
    }
    /// The largest difference of a gradient and a slope that count as equal, relative to slopes above 1.
    double tolerance() const { return isCoarse ? 1e-3 : 1e-6; }
};

/// The derivative of the loss with respect to one element, by central differences of fourth order.
double slope(const Problem& problem, const Analysis& analysis, NodeId parameter, std::int64_t element) {
    const double step = problem.isCoarse ? 2e-2 : 1e-3;
    const auto at = [&](double offset) {
        Values values = problem.values;
        std::vector<double> numbers = valuesOf(values.at({parameter, 0}));
        numbers[static_cast<std::size_t>(element)] += offset;
        Tensor& tensor = values.at({parameter, 0});
        tensor = tensorOf(tensor.dtype(), tensor.shape(), numbers);
        return problem.lossAt(analysis, values);
    };
    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

/// By parameter: the derivative with respect to each element. Of many elements, only every n-th is computed,
/// and the others are NaN; `seed` chooses which.
std::vector<std::vector<double>> slopesOf(const Problem& problem, const Analysis& analysis, unsigned seed) {
    constexpr std::int64_t most = 24;
    std::vector<std::vector<double>> out;
    for (const NodeId parameter : problem.parameters) {
        out.emplace_back();
        const std::int64_t count = problem.values.at({parameter, 0}).elementCount();
        const std::int64_t every = count / most + 1;
        for (std::int64_t i = 0; i < count; ++i)
            out.back().push_back(i % every == seed % every ? slope(problem, analysis, parameter, i)
                                                           : std::numeric_limits<double>::quiet_NaN());
    }
    return out;
}

/// Whether two parameters have the same slopes, as the operands of a sum have.
bool areAlike(const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return !(std::abs(x - y) >= 1e-4); });
}

/// The first difference between gradients and slopes; empty if there is none.
QString wrongIn(const Problem& problem, const std::vector<std::vector<double>>& slopes,
                const std::vector<Tensor>& gradients) {
    for (std::size_t p = 0; p < gradients.size(); ++p) {
        const Shape& wanted = problem.values.at({problem.parameters[p], 0}).shape();
        if (gradients[p].shape() != wanted)
            return QStringLiteral("x%1 has the shape %2")
                .arg(p)
                .arg(QString::fromStdString(gradients[p].shape().toTorchString()));
        const std::vector<double> got = valuesOf(gradients[p]);
        for (std::size_t i = 0; i < got.size(); ++i)
            if (!std::isnan(slopes[p][i]) && !(std::abs(got[i] - slopes[p][i]) <=
                                               problem.tolerance() * std::max(1.0, std::abs(slopes[p][i]))))
                return QStringLiteral("x%1[%2]: %3 instead of %4")
                    .arg(p)
                    .arg(i)
                    .arg(got[i])
                    .arg(slopes[p][i]);
    }
    return {};
}

/// Whether the op's derivative is 0 everywhere.
bool passesNothing(const GradientCase& c) { return findOp(c.op)->gradient == passNoGradient; }

} // namespace

class TestGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void vectorJacobianProductsAreThoseOfDifferences_data() {
        QTest::addColumn<int>("index");
        for (int i = 0; i < int(std::size(kGradientCases)); ++i)
            QTest::addRow("%d %s", i, kGradientCases[i].op) << i;
    }
    void vectorJacobianProductsAreThoseOfDifferences() {
        QFETCH(const int, index);
        const GradientCase& c = kGradientCases[index];
        for (unsigned seed = 1; seed <= 2; ++seed) {
            const Problem problem(c, seed);
            const Analysis before = problem.analyzed();
            QCOMPARE(before.errorCount(), std::size_t(0));
            DeltaBuilder builder(problem.maker.graph(), "Add backward pass");
            const std::vector<PortRef> outputs =
                addBackward(builder, before, {problem.loss, 0}, problem.parameters, FrameId::none);
            const Graph& graph = builder.graph();
            const Analysis after = analyze(graph, simulatedMap(), Policy::strict, nullptr);
            QVERIFY2(!after.hasErrors(), after.hasErrors() ? after.diagnostics.front().message.c_str() : "");
            const auto gradientsBy = [&](Mutant mutant) {
                const Values values = evaluate(graph, after, problem.values, mutant);
                std::vector<Tensor> gradients;
                for (const PortRef at : outputs) gradients.push_back(values.at(at));
                return gradients;
            };
            const std::vector<Tensor> gradients = gradientsBy(Mutant::none);
            const std::vector<std::vector<double>> slopes = slopesOf(problem, before, seed);
            QCOMPARE(wrongIn(problem, slopes, gradients), QString());
            // The comparison sees a backward pass that does not sum over a broadcast, or that overwrites.
            if (problem.isBroadcast)
                QVERIFY(!wrongIn(problem, slopes, gradientsBy(Mutant::firstOfSum)).isEmpty());
            if (!passesNothing(c))
                QVERIFY(!wrongIn(problem, slopes, gradientsBy(Mutant::lastOfAdds)).isEmpty());
            // It sees gradients that are wrong by 1 %, or of another parameter.
            for (std::size_t p = 0; p < gradients.size(); ++p) {
                if (std::ranges::all_of(
                        slopes[p], [&](double x) { return !(std::abs(x) >= 1e3 * problem.tolerance()); }))
                    continue;
                std::vector<Tensor> scaled = gradients;
                std::vector<double> numbers = valuesOf(scaled[p]);
                for (double& x : numbers) x *= 1.01;
                scaled[p] = tensorOf(scaled[p].dtype(), scaled[p].shape(), numbers);
                QVERIFY(!wrongIn(problem, slopes, scaled).isEmpty());
                for (std::size_t q = 0; q < p; ++q) {
                    std::vector<Tensor> swapped = gradients;
                    std::swap(swapped[p], swapped[q]);
                    QVERIFY(areAlike(slopes[p], slopes[q]) || !wrongIn(problem, slopes, swapped).isEmpty());
                }
            }
        }
    }

    /// The gradient of a control op is that of its bodies.
    void everyOpDeclaresAGradientOrAReason() {
        QStringList open;
        for (const Op& op : opTable()) {
            const bool isFloat = std::ranges::any_of(op.inputs, [](const PortSpec& port) {
                return port.types.contains(DType::f32) && !port.hostValue;
            });
            const bool isDeclared = op.gradient || !op.noGradient.empty();
            if (isFloat && !isDeclared && op.role != OpRole::sink && op.role != OpRole::control)
                open << QString::fromStdString(op.name);
            QVERIFY2(!(op.gradient && !op.noGradient.empty()), op.name.c_str());
        }
        QCOMPARE(open, QStringList());
    }
};

TWB_TEST_MAIN(TestGradients)
#include "test_gradients.moc"
