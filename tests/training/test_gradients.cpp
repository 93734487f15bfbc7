#include "ops/gradient.h"
#include "ops/op_table.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"
#include "training/backward.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// An operand: floats between two bounds, or given values.
struct Operand {
    Shape shape;
    double low = -2;
    double high = 2;
    std::vector<double> given{}; ///< of `dtype`; without bounds these get no gradient
    DType dtype = DType::f64;
    bool isConstant = false; ///< known before the run
    bool isConnected = true;

    bool isParameter() const { return isConnected && (given.empty() || low < high); }
};

struct Case {
    const char* op;
    Attributes attributes;
    std::vector<Operand> operands;
};

Operand indices(const Shape& shape, const std::vector<double>& values) {
    return {shape, 0, 0, values, DType::i64};
}
Operand flags(const Shape& shape, const std::vector<double>& values) {
    return {shape, 0, 0, values, DType::boolean};
}
Operand lengths(const std::vector<double>& values) {
    return {{static_cast<std::int64_t>(values.size())}, 0, 0, values, DType::i32};
}
/// Floats that get a gradient.
Operand at(const Shape& shape, const std::vector<double>& values) { return {shape, -1, 1, values}; }
/// An optional input that is not connected.
const Operand kNone{{}, 0, 0, {}, DType::f64, false, false};
/// Floats that stay fixed.
Operand fixed(const Shape& shape, const std::vector<double>& values) { return {shape, 0, 0, values}; }

/// Different numbers between the bounds, in random order. Where the bounds are -b and b, none is near 0; no
/// two of different operands are near each other, so that no extreme ties.
Tensor spread(const Operand& operand, std::size_t number, std::mt19937& random) {
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

    explicit Problem(const Case& c, unsigned seed) {
        std::mt19937 random(seed);
        std::vector<NodeId> inputs;
        for (std::size_t i = 0; i < c.operands.size(); ++i) {
            const Operand& operand = c.operands[i];
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
            const bool isExtra = op.category == "Normalization" && i > 0; // a statistic of the first
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

/// By parameter: the derivative with respect to each element.
std::vector<std::vector<double>> slopesOf(const Problem& problem, const Analysis& analysis) {
    std::vector<std::vector<double>> out;
    for (const NodeId parameter : problem.parameters) {
        out.emplace_back();
        const std::int64_t count = problem.values.at({parameter, 0}).elementCount();
        for (std::int64_t i = 0; i < count; ++i) out.back().push_back(slope(problem, analysis, parameter, i));
    }
    return out;
}

/// Whether two parameters have the same slopes, as the operands of a sum have.
bool areAlike(const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) < 1e-4; });
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
            if (!(std::abs(got[i] - slopes[p][i]) <=
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
bool passesNothing(const Case& c) { return findOp(c.op)->gradient == passNoGradient; }

const Shape k34{3, 4};

const Case kCases[] = {
    {"Add", {}, {{k34}, {k34}}},
    {"Add", {}, {{{2, 3, 4}}, {{3, 1}}}},
    {"Sub", {}, {{{3, 1}}, {{2, 1, 4}}}},
    {"Mul", {}, {{{2, 3, 4}}, {{4}}}},
    {"Mul", {}, {{{}}, {k34}}},
    {"Div", {}, {{{3, 1}}, {{1, 4}, 0.5, 2}}},
    {"Div", {}, {{k34}, {{}, 0.5, 2}}},
    {"Mod", {{"fmod", true}}, {{{5}, 3.1, 4.9}, {{5}, 1.1, 1.5}}},
    {"Pow", {}, {{k34, 0.3, 2}, {k34}}},
    {"Pow", {}, {{k34, 0.3, 2}, {{}, 1, 3}}},
    {"Pow", {}, {{{2, 3}}, indices({3}, {0, 1, 3})}},
    {"Neg", {}, {{k34}}},
    {"Abs", {}, {{k34}}},
    {"Exp", {}, {{k34}}},
    {"Log", {}, {{k34, 0.3, 3}}},
    {"Sqrt", {}, {{k34, 0.3, 3}}},
    {"Where", {}, {flags({3, 1}, {1, 0, 1}), {k34}, {{4}}}},
    {"Sin", {}, {{k34}}},
    {"Cos", {}, {{k34}}},
    {"Tan", {}, {{k34, -1, 1}}},
    {"Asin", {}, {{k34, -0.8, 0.8}}},
    {"Acos", {}, {{k34, -0.8, 0.8}}},
    {"Atan", {}, {{k34}}},
    {"Sinh", {}, {{k34}}},
    {"Cosh", {}, {{k34}}},
    {"Asinh", {}, {{k34}}},
    {"Acosh", {}, {{k34, 1.3, 3}}},
    {"Atanh", {}, {{k34, -0.8, 0.8}}},
    {"Erf", {}, {{k34}}},
    {"Floor", {}, {{{5}}}},
    {"Ceil", {}, {{{5}}}},
    {"Round", {}, {{{5}}}},
    {"Sign", {}, {{{5}}}},
    {"Reciprocal", {}, {{k34, 0.4, 2}}},
    {"Identity", {}, {{k34}}},
    {"Relu", {}, {{k34}}},
    {"Gelu", {}, {{k34}}},
    {"Gelu", {{"approximate", "tanh"}}, {{k34}}},
    {"Sigmoid", {}, {{k34}}},
    {"Tanh", {}, {{k34}}},
    {"LeakyRelu", {{"alpha", 0.3}}, {{k34}}},
    {"PRelu", {}, {{k34}, {{4}}}},
    {"ThresholdedRelu", {{"alpha", 0.5}}, {{{2, 5}}}},
    {"Clip", {{"min", -0.7}, {"max", 0.9}}, {{{2, 5}}}},
    {"Shrink", {{"bias", 0.2}, {"lambd", 0.6}}, {{{2, 5}}}},
    {"Elu", {{"alpha", 1.5}}, {{k34}}},
    {"Selu", {}, {{k34}}},
    {"Softplus", {}, {{k34}}},
    {"Softsign", {}, {{k34}}},
    {"Mish", {}, {{k34}}},
    {"Swish", {{"alpha", 1.3}}, {{k34}}},
    {"HardSigmoid", {}, {{k34, -4, 4}}},
    {"HardSwish", {}, {{k34, -5, 5}}},
    {"Max", {}, {{k34}, {{4}}, {{3, 1}}}},
    {"Min", {}, {{k34}, {{}}}},
    {"Sum", {}, {{k34}, {{4}}, {{3, 1}}}},
    {"Mean", {}, {{k34}, {{4}}}},
    {"Softmax", {}, {{k34}}},
    {"Softmax", {{"axis", std::int64_t{0}}}, {{{3, 2, 2}}}},
    {"LogSoftmax", {{"axis", std::int64_t{1}}}, {{{2, 3, 2}}}},
    {"Hardmax", {}, {{{2, 3}}}},
    {"Dropout", {{"training_mode", true}, {"ratio", 0.4}}, {{{4, 6}}}},
    {"Dropout", {}, {{{4, 6}}}},
    {"MatMul", {}, {{{3, 4}}, {{4, 2}}}},
    {"MatMul", {}, {{{2, 1, 3, 4}}, {{5, 4, 2}}}},
    {"MatMul", {}, {{{4}}, {{4}}}},
    {"MatMul", {}, {{{4}}, {{2, 4, 3}}}},
    {"MatMul", {}, {{{2, 3, 4}}, {{4}}}},
    {"Gemm", {{"alpha", 0.5}, {"beta", 2.0}}, {{{3, 4}}, {{4, 2}}, {{2}}}},
    {"Gemm", {{"transA", true}, {"alpha", 0.5}}, {{{4, 3}}, {{4, 2}}, {{3, 1}}}},
    {"Gemm", {{"transB", true}}, {{{3, 4}}, {{2, 4}}, {{}}}},
    {"Gemm", {{"transA", true}, {"transB", true}}, {{{4, 3}}, {{2, 4}}}},
    {"Reshape", {{"shape", Ints{2, -1}}}, {{k34}}},
    {"Transpose", {{"perm", Ints{2, 0, 1}}}, {{{2, 3, 4}}}},
    {"Transpose", {}, {{{2, 3, 4}}}},
    {"Squeeze", {}, {{{3, 1, 4}}}},
    {"Unsqueeze", {{"axes", Ints{0, -1}}}, {{k34}}},
    {"Flatten", {}, {{{2, 3, 2}}}},
    {"Expand", {{"shape", Ints{2, 3, 4}}}, {{{3, 1}}}},
    {"Tile", {{"repeats", Ints{2, 1, 3}}}, {{{2, 3, 1}}}},
    {"Concat", {{"axis", std::int64_t{-1}}}, {{{2, 3}}, {{2, 1}}, {{2, 2}}}},
    {"Slice", {{"starts", Ints{1, -3}}, {"ends", Ints{3, 100}}}, {{{4, 5}}}},
    {"Slice",
     {{"starts", Ints{-1}}, {"ends", Ints{-100}}, {"axes", Ints{1}}, {"steps", Ints{-2}}},
     {{{2, 5}}}},
    {"Slice", {{"starts", Ints{1, 0}}, {"ends", Ints{4, 5}}, {"steps", Ints{1, 3}}}, {{{4, 5}}}},
    {"Split", {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{3}}}, {{{2, 5}}}},
    {"Pad", {{"pads", Ints{1, 0, 0, 2}}}, {{k34}}},
    {"Pad", {{"pads", Ints{-1, 2}}, {"axes", Ints{1}}, {"constant_value", 3.0}}, {{k34}}},
    {"Cast", {{"to", "f64"}}, {{k34}}},
    {"CastLike", {}, {{k34}, fixed({1}, {2})}},
    {"Trilu", {}, {{{3, 3}}}},
    {"Trilu", {{"upper", false}, {"k", std::int64_t{1}}}, {{{2, 3, 4}}}},
    {"DepthToSpace", {}, {{{1, 8, 2, 3}}}},
    {"DepthToSpace", {{"mode", "CRD"}}, {{{1, 8, 2, 3}}}},
    {"SpaceToDepth", {}, {{{2, 2, 4, 2}}}},
    {"ReverseSequence", {}, {{{4, 3}}, indices({3}, {2, 4, 1})}},
    {"ReduceSum", {{"axes", Ints{1}}}, {{{2, 3, 2}}}},
    {"ReduceSum", {{"keepdims", false}}, {{k34}}},
    {"ReduceSum", {{"noop_with_empty_axes", true}}, {{k34}}},
    {"ReduceMean", {{"axes", Ints{-1, 0}}, {"keepdims", false}}, {{{2, 3, 2}}}},
    {"ReduceMax", {{"axes", Ints{1}}}, {{k34}}},
    {"ReduceMin", {}, {{k34}}},
    {"ReduceProd", {{"axes", Ints{1}}}, {{{2, 3}}}},
    {"ReduceL1", {{"axes", Ints{0}}}, {{k34}}},
    {"ReduceL2", {{"axes", Ints{0}}, {"keepdims", false}}, {{k34}}},
    {"ReduceSumSquare", {}, {{k34}}},
    {"ReduceLogSum", {{"axes", Ints{1}}}, {{k34, 0.3, 2}}},
    {"ReduceLogSumExp", {{"axes", Ints{1}}, {"keepdims", false}}, {{k34}}},
    {"CumSum", {}, {{k34}}},
    {"CumSum", {{"axis", std::int64_t{1}}, {"exclusive", true}, {"reverse", true}}, {{k34}}},
    {"Gather", {}, {{{4, 3}}, indices({2, 2}, {1, -1, 1, 0})}},
    {"Gather", {{"axis", std::int64_t{-1}}}, {{{2, 3}}, indices({}, {1})}},
    {"GatherElements", {{"axis", std::int64_t{1}}}, {{{2, 3}}, indices({2, 2}, {0, 0, 2, -2})}},
    {"GatherND", {}, {{{3, 2}}, indices({3, 1}, {1, 1, 0})}},
    {"ScatterElements", {}, {{{3, 2}}, indices({1, 2}, {2, 0}), {{1, 2}}}},
    {"ScatterElements", {{"reduction", "add"}}, {{{3, 2}}, indices({2, 2}, {1, 0, 1, 2}), {{2, 2}}}},
    {"ScatterND", {}, {{{4, 2}}, indices({2, 1}, {3, 0}), {{2, 2}}}},
    {"ScatterND", {{"reduction", "add"}}, {{{4, 2}}, indices({2, 1}, {3, 3}), {{2, 2}}}},
    {"TopK", {{"K", std::int64_t{2}}}, {{{2, 5}}}},
    {"Conv", {}, {{{2, 3, 5}}, {{4, 3, 3}}, {{4}}}},
    {"Conv",
     {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 2}}, {"dilations", Ints{1, 2}}},
     {{{2, 2, 6, 5}}, {{3, 2, 3, 2}}}},
    {"Conv", {{"group", std::int64_t{2}}, {"strides", Ints{2}}}, {{{2, 4, 6}}, {{6, 2, 3}}, {{6}}}},
    {"Conv", {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 2}}}, {{{1, 1, 5, 4}}, {{2, 1, 3, 3}}}},
    {"Conv", {{"group", std::int64_t{3}}}, {{{1, 3, 4, 4}}, {{3, 1, 2, 2}}}},
    {"ConvTranspose",
     {{"strides", Ints{2, 3}}, {"pads", Ints{0, 1, 1, 0}}, {"output_padding", Ints{1, 2}}},
     {{{2, 3, 3, 2}}, {{3, 2, 2, 3}}, {{2}}}},
    {"ConvTranspose", {{"group", std::int64_t{2}}}, {{{2, 4, 3}}, {{4, 3, 2}}}},
    {"MaxPool",
     {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}},
     {{{2, 2, 5, 4}}}},
    {"MaxUnpool",
     {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
     {{{1, 1, 2, 2}}, indices({1, 1, 2, 2}, {5, 7, 13, 10})}},
    {"AveragePool",
     {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}},
     {{{2, 2, 5, 4}}}},
    {"AveragePool",
     {{"kernel_shape", Ints{3, 2}},
      {"strides", Ints{2, 1}},
      {"pads", Ints{1, 0, 0, 1}},
      {"count_include_pad", true}},
     {{{2, 2, 5, 4}}}},
    {"AveragePool",
     {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"ceil_mode", true}, {"count_include_pad", true}},
     {{{1, 2, 8}}}},
    {"AveragePool", {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}}, {{{1, 2, 9}}}},
    {"AveragePool", {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 1}}}, {{{1, 1, 4, 3}}}},
    {"AveragePool",
     {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", "SAME_LOWER"}},
     {{{1, 1, 4, 5}}}},
    {"LpPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{1, 2}}}, {{{1, 2, 3, 4}}}},
    {"LpPool", {{"kernel_shape", Ints{3}}, {"p", std::int64_t{3}}, {"pads", Ints{1, 1}}}, {{{1, 2, 5}}}},
    {"LpPool", {{"kernel_shape", Ints{2}}, {"p", std::int64_t{1}}}, {{{1, 2, 5}, 0.3, 2}}},
    {"GlobalLpPool", {}, {{{2, 3, 2, 2}}}},
    {"GlobalLpPool", {{"p", std::int64_t{3}}}, {{{2, 3, 4}}}},
    {"LRN", {{"size", std::int64_t{3}}, {"alpha", 0.5}}, {{{2, 5, 3}}}},
    {"LRN", {{"size", std::int64_t{4}}, {"alpha", 0.5}, {"bias", 2.0}}, {{{1, 6, 2, 2}}}},
    {"MeanVarianceNormalization", {}, {{{2, 3, 2, 2}}}},
    {"MeanVarianceNormalization", {{"axes", Ints{1}}}, {{{2, 4}}}},
    {"CenterCropPad", {{"shape", Ints{2, 6}}, {"axes", Ints{0, -1}}}, {{{5, 2, 3}}}},
    {"RotaryEmbedding",
     {},
     {{{1, 2, 3, 4}},
      fixed({1, 3, 2}, {0.9, 0.8, 0.5, 0.1, -0.2, 0.7}),
      fixed({1, 3, 2}, {0.1, 0.2, 0.6, 0.9, 0.8, -0.4})}},
    {"RotaryEmbedding",
     {{"interleaved", true}, {"rotary_embedding_dim", std::int64_t{2}}},
     {{{1, 2, 2, 4}}, fixed({1, 2, 1}, {0.9, 0.5}), fixed({1, 2, 1}, {0.1, -0.6})}},
    {"GlobalAveragePool", {}, {{{2, 3, 2, 2}}}},
    {"GlobalMaxPool", {}, {{{2, 3, 2, 2}}}},
    {"Einsum", {{"equation", "bij,bjk->bik"}}, {{{2, 2, 3}}, {{2, 3, 2}}}},
    {"Einsum", {{"equation", "...ij,...jk->...ik"}}, {{{2, 1, 2, 3}}, {{3, 3, 2}}}},
    {"Einsum", {{"equation", "ij,k->j"}}, {{{2, 3}}, {{2}}}},
    {"LayerNormalization", {}, {{k34}, {{4}}, {{4}}}},
    {"LayerNormalization", {{"axis", std::int64_t{1}}}, {{{2, 3, 2}}, {{3, 2}}}},
    {"RMSNormalization", {}, {{k34}, {{4}}}},
    {"BatchNormalization", {}, {{{3, 2, 2, 2}}, {{2}}, {{2}}, {{2}}, {{2}, 0.5, 2}}},
    {"BatchNormalization",
     {{"training_mode", true}},
     {{{3, 2, 2, 2}}, {{2}}, {{2}}, fixed({2}, {0.5, -0.2}), fixed({2}, {1, 2})}},
    {"InstanceNormalization", {}, {{{2, 3, 2, 2}}, {{3}}, {{3}}}},
    {"GroupNormalization", {{"num_groups", std::int64_t{2}}}, {{{2, 4, 3}}, {{4}}, {{4}}}},
    {"LpNormalization", {{"axis", std::int64_t{0}}}, {{k34}}},
    {"LpNormalization", {{"p", std::int64_t{1}}}, {{k34}}},
    {"NegativeLogLikelihoodLoss", {}, {{{3, 4}}, indices({3}, {1, 3, 0})}},
    {"NegativeLogLikelihoodLoss",
     {{"reduction", "none"}},
     {{{2, 3, 2}}, indices({2, 2}, {1, 2, 0, 1}), fixed({3}, {0.5, 2, 1})}},
    {"NegativeLogLikelihoodLoss",
     {{"ignore_index", std::int64_t{-100}}},
     {{{3, 4}}, indices({3}, {1, -100, 0}), fixed({4}, {0.5, 2, 1, 1.5})}},
    {"SoftmaxCrossEntropyLoss", {}, {{{3, 4}}, indices({3}, {1, 3, 0})}},
    {"SoftmaxCrossEntropyLoss",
     {{"reduction", "sum"}, {"ignore_index", std::int64_t{2}}},
     {{{2, 3, 2}}, indices({2, 2}, {1, 2, 0, 1}), fixed({3}, {0.5, 2, 1})}},
    {"Attention", {}, {{{1, 2, 3, 4}}, {{1, 2, 5, 4}}, {{1, 2, 5, 3}}}},
    {"Attention",
     {{"q_num_heads", std::int64_t{4}},
      {"kv_num_heads", std::int64_t{2}},
      {"qk_matmul_output_mode", std::int64_t{3}}},
     {{{2, 3, 8}}, {{2, 4, 4}}, {{2, 4, 6}}}},
    {"Attention",
     {{"is_causal", true}, {"softcap", 1.5}, {"scale", 0.7}, {"qk_matmul_output_mode", std::int64_t{1}}},
     {{{1, 2, 3, 4}}, {{1, 2, 2, 4}}, {{1, 2, 2, 3}}, kNone, {{1, 2, 2, 4}}, {{1, 2, 2, 3}}}},
    {"Attention",
     {},
     {{{1, 2, 3, 4}}, {{1, 1, 5, 4}}, {{1, 1, 5, 3}}, flags({3, 4}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1})}},
    {"Attention",
     {{"qk_matmul_output_mode", std::int64_t{2}}},
     {{{2, 2, 3, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 3}}, {{2, 1, 3, 5}}}},
    {"Attention", {}, {{{1, 2, 3, 4}}, {{1, 2, 5, 4}}, {{1, 2, 5, 3}}, {{3, 4}}}},
    {"RNN", {}, {{{3, 2, 3}}, {{1, 2, 3}}, {{1, 2, 2}}, {{1, 4}}}},
    {"RNN",
     {{"direction", "reverse"},
      {"activations", std::vector<std::string>{"ScaledTanh"}},
      {"activation_alpha", 1.3},
      {"activation_beta", 0.7}},
     {{{3, 2, 3}}, {{1, 2, 3}}, {{1, 2, 2}}, {{1, 4}}, lengths({3, 2}), {{1, 2, 2}}}},
    {"RNN",
     {{"direction", "bidirectional"}, {"activations", std::vector<std::string>{"Softplus", "Elu"}}},
     {{{2, 2, 3}}, {{2, 2, 3}}, {{2, 2, 2}}}},
    {"RNN",
     {{"activations", std::vector<std::string>{"Affine"}},
      {"activation_alpha", 0.8},
      {"activation_beta", 0.1}},
     {{{1, 2, 3}}, {{1, 2, 3}}, {{1, 2, 2}}}},
    {"GRU", {}, {{{3, 2, 3}}, {{1, 6, 3}}, {{1, 6, 2}}, {{1, 12}}, kNone, {{1, 2, 2}}}},
    {"GRU",
     {{"direction", "bidirectional"}, {"linear_before_reset", true}, {"layout", std::int64_t{1}}},
     {{{2, 3, 3}}, {{2, 6, 3}}, {{2, 6, 2}}, {{2, 12}}, lengths({1, 3}), {{2, 2, 2}}}},
    {"GRU", {{"linear_before_reset", true}, {"clip", 1.5}}, {{{2, 1, 3}}, {{1, 6, 3}}, {{1, 6, 2}}}},
    {"LSTM", {}, {{{3, 2, 3}}, {{1, 8, 3}}, {{1, 8, 2}}, {{1, 16}}}},
    {"LSTM",
     {{"direction", "bidirectional"}, {"layout", std::int64_t{1}}},
     {{{2, 3, 3}}, {{2, 8, 3}}, {{2, 8, 2}}, {{2, 16}}, lengths({3, 0}), {{2, 2, 2}}, {{2, 2, 2}}, {{2, 6}}}},
    {"LSTM",
     {{"direction", "reverse"},
      {"input_forget", true},
      {"activations", std::vector<std::string>{"Sigmoid", "Softsign", "Tanh"}}},
     {{{3, 1, 2}}, {{1, 8, 2}}, {{1, 8, 2}}, {{1, 16}}, kNone, {{1, 1, 2}}, {{1, 1, 2}}}},
    {"Resize", {{"scales", std::vector<double>{1, 1, 2, 3}}}, {{{1, 2, 3, 2}}}},
    {"Resize", {{"sizes", Ints{2, 7}}, {"axes", Ints{1, 2}}, {"mode", "linear"}}, {{{2, 4, 3}}}},
    {"Resize",
     {{"scales", std::vector<double>{0.6, 1.7}},
      {"nearest_mode", "ceil"},
      {"coordinate_transformation_mode", "asymmetric"}},
     {{{5, 3}}}},
    {"Resize",
     {{"sizes", Ints{7, 2}}, {"mode", "cubic"}, {"coordinate_transformation_mode", "align_corners"}},
     {{{4, 5}}}},
    {"Resize",
     {{"scales", std::vector<double>{0.5, 0.6}}, {"mode", "linear"}, {"antialias", true}},
     {{{6, 5}}}},
    {"Resize",
     {{"scales", std::vector<double>{1.5, 0.8}}, {"mode", "cubic"}, {"exclude_outside", true}},
     {{{4, 5}}}},
    {"Resize",
     {{"sizes", Ints{3, 4}},
      {"mode", "linear"},
      {"coordinate_transformation_mode", "tf_crop_and_resize"},
      {"extrapolation_value", 5.0},
      {"roi", std::vector<double>{0.2, 0.1, 0.8, 1.3}}},
     {{{4, 5}}}},
    {"GridSample", {}, {{{1, 2, 3, 4}}, {{1, 2, 3, 2}, -1.2, 1.2}}},
    {"GridSample",
     {{"align_corners", true}, {"padding_mode", "border"}},
     {{{2, 1, 3, 4}}, {{2, 3, 2, 2}, -1.4, 1.4}}},
    {"GridSample", {{"padding_mode", "reflection"}}, {{{1, 2, 3, 4}}, {{1, 3, 3, 2}, -2.6, 2.5}}},
    {"GridSample",
     {{"mode", "cubic"}, {"padding_mode", "reflection"}, {"align_corners", true}},
     {{{1, 2, 3, 4}}, {{1, 3, 3, 2}, -1.9, 2}}},
    {"GridSample", {{"mode", "cubic"}}, {{{1, 1, 4, 4}}, {{1, 2, 3, 2}, -1.1, 1.1}}},
    {"GridSample",
     {{"mode", "nearest"}, {"padding_mode", "reflection"}},
     {{{1, 2, 3, 4}}, {{1, 3, 3, 2}, -1.5, 1.5}}},
    {"GridSample", {}, {{{1, 2, 2, 3, 2}}, {{1, 2, 1, 2, 3}, -1, 1}}},
    {"GridSample", {{"padding_mode", "border"}}, {{{2, 2, 5}}, {{2, 4, 1}, -1.2, 1.2}}},
    {"AffineGrid", {{"size", Ints{2, 3, 4, 2}}}, {{{2, 2, 3}}}},
    {"AffineGrid", {{"size", Ints{1, 1, 2, 3, 2}}, {"align_corners", true}}, {{{1, 3, 4}}}},
    {"RoiAlign",
     {{"sampling_ratio", std::int64_t{2}},
      {"output_height", std::int64_t{2}},
      {"output_width", std::int64_t{3}},
      {"spatial_scale", 0.5}},
     {{{2, 2, 5, 6}}, at({2, 4}, {0.3, 1.7, 9.1, 8.3, 2.4, -1.1, 13.9, 7.7}), indices({2}, {1, 0})}},
    {"RoiAlign",
     {{"sampling_ratio", std::int64_t{1}},
      {"output_height", std::int64_t{2}},
      {"output_width", std::int64_t{2}},
      {"mode", "max"},
      {"coordinate_transformation_mode", "output_half_pixel"}},
     {{{1, 2, 5, 6}}, at({2, 4}, {0.3, 0.7, 4.1, 3.3, 1.4, 0.1, 1.9, 4.2}), indices({2}, {0, 0})}},
    {"MaxRoiPool",
     {{"pooled_shape", Ints{2, 3}}},
     {{{2, 2, 5, 6}}, fixed({3, 5}, {0, 0, 0, 3, 3, 1, 1, 2, 5, 4, 0, 8, 8, 9, 9})}},
    {"Col2Im", {{"image_shape", Ints{3, 4}}, {"block_shape", Ints{2, 2}}}, {{{2, 8, 6}}}},
    {"Col2Im",
     {{"image_shape", Ints{4, 5}},
      {"block_shape", Ints{2, 2}},
      {"strides", Ints{2, 1}},
      {"dilations", Ints{1, 2}},
      {"pads", Ints{1, 0, 0, 1}}},
     {{{1, 4, 8}}}},
    {"Col2Im", {{"image_shape", Ints{8}}, {"block_shape", Ints{3}}, {"strides", Ints{2}}}, {{{1, 6, 3}}}},
    {"DeformConv", {}, {{{1, 2, 4, 4}}, {{2, 2, 2, 2}}, {{1, 8, 3, 3}, -0.9, 0.8}, {{2}}, {{1, 4, 3, 3}}}},
    {"DeformConv",
     {{"group", std::int64_t{2}},
      {"offset_group", std::int64_t{2}},
      {"strides", Ints{2, 1}},
      {"dilations", Ints{1, 2}},
      {"pads", Ints{0, 1, 1, 0}}},
     {{{1, 4, 3, 4}}, {{2, 2, 2, 2}}, {{1, 16, 2, 3}, 0.1, 0.8}}},
    {"OneHot", {{"depth", std::int64_t{3}}}, {indices({2, 2}, {1, 0, -1, 5}), kNone, {{2}}}},
    {"OneHot",
     {{"depth", std::int64_t{4}}, {"axis", std::int64_t{0}}},
     {indices({3}, {1, 0, 3}), kNone, {{2}}}},
    {"Compress", {{"axis", std::int64_t{-1}}}, {{k34}, {{4}, 0, 0, {1, 0, 0, 1}, DType::boolean, true}}},
    {"Compress", {}, {{k34}, {{6}, 0, 0, {1, 0, 0, 1, 1, 0}, DType::boolean, true}}},
    {"DFT", {}, {{{2, 5, 1}}}},
    {"DFT", {{"inverse", true}, {"axis", std::int64_t{0}}}, {{{3, 2, 2}}}},
    {"DFT", {{"onesided", true}, {"dft_length", std::int64_t{8}}}, {{{1, 6, 1}}}},
    {"DFT", {{"dft_length", std::int64_t{3}}, {"axis", std::int64_t{1}}}, {{{1, 5, 2, 2}}}},
    {"STFT", {{"frame_step", std::int64_t{2}}}, {{{2, 9, 1}}, kNone, {{4}}}},
    {"STFT",
     {{"frame_step", std::int64_t{3}}, {"frame_length", std::int64_t{5}}, {"onesided", false}},
     {{{1, 8, 2}}}},
    {"Det", {}, {{{3, 3}}}},
    {"Det", {}, {{{2, 2, 2}}}},
    {"Det", {}, {{{2, 1, 1}}}},
    {"Det", {}, {at({2, 2}, {1, 2, 2, 4})}},
    {"DequantizeLinear",
     {},
     {{{2, 3}, 0, 0, {3, -7, 5, 1, 9, -2}, DType::i8},
      {{3}, 0.5, 2, {}, DType::f32},
      {{3}, 0, 0, {1, 0, -2}, DType::i8}}},
    {"DequantizeLinear",
     {{"block_size", std::int64_t{2}}},
     {{{2, 3}, 0, 0, {3, 7, 5, 1, 9, 2}, DType::u8}, {{2, 2}, 0.5, 2, {}, DType::f32}}},
    {"DequantizeLinear",
     {},
     {{{2, 3}, 0, 0, {3, -7, 5, 1, 9, -2}, DType::i16}, {{}, 0.5, 2, {}, DType::f32}}},
    {"Binarizer", {}, {{{5}}}},
    {"Scaler", {{"scale", std::vector<double>{2, 3, 0.5, 1}}}, {{k34}}},
    {"Scaler", {{"scale", 2.0}, {"offset", 1.0}}, {{{3}}}},
    {"Normalizer", {}, {{{2, 3}, 0.5, 3}}},
    {"Normalizer", {{"norm", "L1"}}, {{k34, 0.5, 3}}},
    {"Normalizer", {{"norm", "L2"}}, {{k34}}},
    {"Imputer", {{"imputed_value_floats", 7.0}, {"replaced_value_float", 3.0}}, {at({2, 2}, {1, 2, -1, 4})}},
    {"FeatureVectorizer", {{"inputdimensions", Ints{2, 4}}}, {{{2, 3}}, {{2, 3}}}},
    {"ArrayFeatureExtractor", {}, {{{2, 4}}, indices({3}, {2, 0, 2})}},
    {"LinearRegressor",
     {{"coefficients", std::vector<double>{1, 2, -1, 0.5, 1.5, -2}}, {"targets", std::int64_t{2}}},
     {{{2, 3}}}},
    {"LinearRegressor",
     {{"coefficients", std::vector<double>{0.1, 0.05, -0.1}},
      {"intercepts", 0.5},
      {"post_transform", "PROBIT"}},
     {{{2, 3}, -1, 1}}},
    {"LinearClassifier",
     {{"coefficients", std::vector<double>{1, 2, -1, 0.5, 1.5, -2}},
      {"classlabels_ints", Ints{4, 5}},
      {"post_transform", "SOFTMAX"}},
     {{{2, 3}}}},
    {"LinearClassifier",
     {{"coefficients", std::vector<double>{1, 2, -1, 0.5, 1.5, -2}},
      {"classlabels_ints", Ints{4, 5}},
      {"post_transform", "LOGISTIC"}},
     {{{2, 3}}}},
};

/// Ops with floating inputs whose gradients are not written yet. Delete an op here when it has one.
const std::set<std::string> kOpen = {"Carried", "If", "Loop", "Scan", "ScanSlice"};

} // namespace

class TestGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void vectorJacobianProductsAreThoseOfDifferences_data() {
        QTest::addColumn<int>("index");
        for (int i = 0; i < int(std::size(kCases)); ++i) QTest::addRow("%d %s", i, kCases[i].op) << i;
    }
    void vectorJacobianProductsAreThoseOfDifferences() {
        QFETCH(const int, index);
        const Case& c = kCases[index];
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
            const std::vector<std::vector<double>> slopes = slopesOf(problem, before);
            QCOMPARE(wrongIn(problem, slopes, gradients), QString());
            // The comparison sees a backward pass that does not sum over a broadcast, or that overwrites.
            if (problem.isBroadcast)
                QVERIFY(!wrongIn(problem, slopes, gradientsBy(Mutant::firstOfSum)).isEmpty());
            if (!passesNothing(c))
                QVERIFY(!wrongIn(problem, slopes, gradientsBy(Mutant::lastOfAdds)).isEmpty());
            // It sees gradients that are wrong by 1 %, or of another parameter.
            for (std::size_t p = 0; p < gradients.size(); ++p) {
                if (std::ranges::all_of(slopes[p],
                                        [&](double x) { return std::abs(x) < 1e3 * problem.tolerance(); }))
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

    void everyOpDeclaresAGradientOrAReason() {
        std::set<std::string> open;
        for (const Op& op : opTable()) {
            const bool isFloat = std::ranges::any_of(op.inputs, [](const PortSpec& port) {
                return port.types.contains(DType::f32) && !port.hostValue;
            });
            const bool isDeclared = op.gradient || !op.noGradient.empty();
            if (isFloat && !isDeclared && op.role != OpRole::sink) open.insert(op.name);
            QVERIFY2(!(op.gradient && !op.noGradient.empty()), op.name.c_str());
        }
        const auto text = [](const std::set<std::string>& names) {
            QStringList out;
            for (const std::string& name : names) out << QString::fromStdString(name);
            return out.join(' ');
        };
        QVERIFY2(open == kOpen, qPrintable(text(open))); // the ops without one
    }
};

TWB_TEST_MAIN(TestGradients)
#include "test_gradients.moc"
