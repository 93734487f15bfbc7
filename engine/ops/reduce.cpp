#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <type_traits>

namespace twb {
namespace {

void inferReduce(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    const bool keepDims = ctx.attributes().flag("keepdims");
    const bool noop = ctx.attributes().flag("noop_with_empty_axes");
    std::array<bool, kMaxRank> reduced{};
    if (ctx.input(1)) {
        const int length = hostLength(ctx, 1);
        if (ctx.isDeferred(1) && length > 0) {
            // Axes are distinct, so their number determines the rank, but it is unknown which sizes remain.
            const int left = keepDims ? rank : rank - length;
            if (left < 0)
                ctx.fail("shape-mismatch", 1,
                         fmt::format("axes has {} entries, but data has {} dimensions", length, rank));
            ctx.output(0, {data.dtype,
                           Shape(std::vector<std::int64_t>(static_cast<std::size_t>(left), kUnknownDim))});
            return;
        }
    }
    const int port = ctx.input(1) ? 1 : -1;
    const auto axes = ctx.integers(1).value_or(std::vector<std::int64_t>{});
    if (axes.empty()) {
        if (!noop) reduced.fill(true);
        ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
        return;
    }
    for (std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axisOrFail(ctx, axis, rank, port));
        if (reduced[at])
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("dim {} appears multiple times in the list of dims", at));
        reduced[at] = true;
    }
    ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
}

Cost reduceCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    cost.flops = countOf(inputs[0].shape);
    return cost;
}

/// Reduces with Map's wide sums and stores finish(sum) for each.
template <class T, class Map, class Finish>
void sumOf(const KernelContext& ctx, const ReductionView& view, const Finish& finish) {
    T* const out = ctx.outputs[0].as<T>();
    reduce(view, SumRule<T, Map>{}, [=](std::int64_t i, Wide<T> sum) { out[i] = finish(sum); });
}

void sumKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        sumOf<T, Plain>(ctx, view, [](Wide<T> sum) { return static_cast<T>(sum); });
    });
}

/// L1 and the sum of squares.
template <class Map> void mappedSumKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        sumOf<T, Map>(ctx, view, [](Wide<T> sum) { return static_cast<T>(sum); });
    });
}

/// A function of a sum, in double: L2 norm and logarithm of the sum. Integer results are truncated.
template <class Map, class F> void functionOfSumKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        sumOf<T, Map>(ctx, view, [](Wide<T> sum) { return element::cast<T>(F{}(numberOf<T>(sum))); });
    });
}

void logSumExpKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using Rule = LogSumExpRule<T>;
        T* const out = ctx.outputs[0].as<T>();
        reduce(view, Rule{},
               [out](std::int64_t i, const auto& state) { out[i] = element::cast<T>(Rule::finish(state)); });
    });
}

void productKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = ctx.outputs[0].as<T>();
        reduce(view, ProductRule<T>{},
               [out](std::int64_t i, const auto& state) { out[i] = static_cast<T>(state.value); });
    });
}

void meanKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    const std::int64_t count = view.reduced.elementCount();
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = ctx.outputs[0].as<T>();
        using Rule = MeanRule<T>;
        if (std::is_integral_v<T> && count == 0 && ctx.outputs[0].elementCount() > 0)
            throw Error(
                ErrorCode::invalidArgument,
                "ZeroDivisionError: the mean of no integers is an integer division by zero; cast to a "
                "floating dtype for NaN");
        reduce(view, Rule{}, [=](std::int64_t i, typename Rule::State sum) {
            out[i] = static_cast<T>(Rule::finish(sum, count));
        });
    });
}

template <bool Largest> void extremeKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], reducedAxes(ctx));
    withNumberOrBool(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = ctx.outputs[0].as<T>();
        reduce(view, ExtremeRule<T, Largest>{},
               [out](std::int64_t i, const auto& state) { out[i] = state.value; });
    });
}

/// A reduction as its gradient needs it: with the reduced axes of size 1, so that it broadcasts to the input.
struct Reduction {
    explicit Reduction(GradientContext& g)
        : x(g.input()), axes(g.integers(1).value_or(std::vector<std::int64_t>{})) {
        const int rank = x.shape().rank();
        if (axes.empty() && !g.attributes().flag("noop_with_empty_axes")) {
            axes.resize(static_cast<std::size_t>(rank));
            std::iota(axes.begin(), axes.end(), 0);
        }
        Shape kept = x.shape();
        for (std::int64_t& axis : axes) {
            if (axis < 0) axis += rank;
            kept[static_cast<int>(axis)] = 1;
        }
        y = reshape(g.output(), kept);
        gradient = reshape(g.gradient(), kept);
    }
    GraphTensor x, y, gradient;
    std::vector<std::int64_t> axes;
};

void sumGradient(GradientContext& g) {
    const Reduction r(g);
    g.give(0, expand(r.gradient, r.x.shape()));
}

void meanGradient(GradientContext& g) {
    const Reduction r(g);
    const double count = countOf(r.x.shape()) / std::max(countOf(r.y.shape()), 1.0);
    g.give(0, expand(r.gradient / count, r.x.shape()));
}

/// Elements that tie share the gradient equally, as in PyTorch's amax.
void extremeGradient(GradientContext& g) {
    const Reduction r(g);
    const GraphTensor isChosen = isEqual(r.x, r.y);
    const GraphTensor count = sumOver(cast(isChosen, r.x.type().dtype), r.axes);
    g.give(0, where(isChosen, r.gradient / count));
}

/// The product of the other elements: the result divided by the element; where one element is 0, the product
/// of the rest for that element, and 0 for the rest.
void productGradient(GradientContext& g) {
    const Reduction r(g);
    const GraphTensor isZero = isEqual(r.x, 0.0);
    const GraphTensor zeros = sumOver(cast(isZero, r.x.type().dtype), r.axes);
    const GraphTensor rest = where(isZero, 1, r.x);
    const GraphTensor product =
        apply("ReduceProd", {rest}, {{"axes", r.axes}, {"keepdims", true}, {"noop_with_empty_axes", true}});
    const GraphTensor isOnly = apply("And", {isZero, isEqual(zeros, 1.0)});
    const GraphTensor others = where(isEqual(zeros, 0.0), product / rest, where(isOnly, product));
    g.give(0, r.gradient * others);
}

void lengthGradient(GradientContext& g) {
    const Reduction r(g);
    g.give(0, where(isEqual(r.y, 0.0), 0, r.x * (r.gradient / r.y))); // PyTorch's subgradient at 0
}

Op makeReduction(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
                 HostKernel kernel) {
    Op op = makeOp(std::move(name), "Reduce", opset, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", types, "T"), hostPort("axes")};
    op.outputs = {port("reduced", "", types, "T")};
    op.attributes = {
        integersAttribute("axes", "Axes to reduce, negative ones from the end; absent: all"),
        flagAttribute("keepdims", true, "Keep reduced axes with size 1"),
        flagAttribute("noop_with_empty_axes", false, "Without axes, reduce nothing instead of everything")};
    op.infer = inferReduce;
    op.cost = reduceCost;
    op.kernel = kernel;
    return op;
}

} // namespace

std::array<bool, kMaxRank> reducedAxes(const KernelContext& ctx) {
    const TensorView& data = ctx.inputs[0];
    const int rank = data.shape.rank();
    std::array<bool, kMaxRank> reduced{};
    std::vector<std::int64_t> axes;
    if (ctx.inputs.size() > 1 && ctx.inputs[1].data) {
        const TensorView& list = ctx.inputs[1];
        axes.resize(static_cast<std::size_t>(list.elementCount()));
        const Strides step = list.shape.rank() == 0 ? Strides{0} : list.strides;
        for (std::size_t i = 0; i < axes.size(); ++i)
            axes[i] = list.as<const std::int64_t>()[static_cast<std::int64_t>(i) * step[0]];
    } else if (ctx.attributes.has("axes")) {
        axes = ctx.attributes.integers("axes");
    }
    if (axes.empty() && !ctx.attributes.flag("noop_with_empty_axes")) reduced.fill(true);
    for (std::int64_t axis : axes) {
        // infer() has checked constant axes; axes known only at run time are checked here.
        const auto at = normalizeAxis(axis, std::max(rank, 1));
        if (!at)
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                            -std::max(rank, 1), std::max(rank, 1) - 1, axis));
        reduced[static_cast<std::size_t>(*at)] = true;
    }
    return reduced;
}

void addReductions(std::vector<Op>& table) {
    Op sum = makeReduction("ReduceSum", 13, "Sum over axes", "Y = Σ X", kNumbers, viaFloat<sumKernel>);
    sum.tolerance = {1e-6, 1e-6};
    sum.gradient = sumGradient;
    table.push_back(std::move(sum));
    Op mean = makeReduction("ReduceMean", 18, "Mean over axes; truncated for integers", "Y = Σ X / n",
                            kNumbers, viaFloat<meanKernel>);
    mean.tolerance = {1e-6, 1e-6};
    mean.gradient = meanGradient;
    table.push_back(std::move(mean));
    table.push_back(makeReduction("ReduceMax", 20, "Maximum over axes; NaN counts as the largest",
                                  "Y = max X", kAll, viaFloat<extremeKernel<true>>));
    table.back().gradient = extremeGradient;
    table.push_back(makeReduction("ReduceMin", 20, "Minimum over axes; NaN counts as the smallest",
                                  "Y = min X", kAll, viaFloat<extremeKernel<false>>));
    table.back().gradient = extremeGradient;

    const auto add = [&](const char* name, const char* doc, const char* formula, HostKernel kernel,
                         void (*gradient)(GradientContext&)) {
        Op op = makeReduction(name, 18, doc, formula, kMatrixTypes, kernel);
        op.tolerance = {1e-6, 1e-6};
        op.gradient = gradient;
        table.push_back(std::move(op));
    };
    add("ReduceProd", "Product over axes", "Y = Π X", viaFloat<productKernel>, productGradient);
    add("ReduceL1", "Sum of absolute values over axes", "Y = Σ |X|", viaFloat<mappedSumKernel<Absolute>>,
        [](GradientContext& g) {
            const Reduction r(g);
            g.give(0, r.gradient * apply("Sign", {r.x}));
        });
    add("ReduceL2", "Euclidean length over axes", "Y = √ Σ X²",
        viaFloat<functionOfSumKernel<Square, element::Sqrt>>, lengthGradient);
    add("ReduceSumSquare", "Sum of squares over axes", "Y = Σ X²", viaFloat<mappedSumKernel<Square>>,
        [](GradientContext& g) {
            const Reduction r(g);
            g.give(0, r.gradient * 2 * r.x);
        });
    add("ReduceLogSum", "Logarithm of the sum over axes", "Y = ln Σ X",
        viaFloat<functionOfSumKernel<Plain, element::Log>>, [](GradientContext& g) {
            const Reduction r(g);
            g.give(0, expand(r.gradient / apply("Exp", {r.y}), r.x.shape()));
        });
    add("ReduceLogSumExp", "Logarithm of the sum of exponentials over axes, without overflow",
        "Y = ln Σ exp(X)", viaFloat<logSumExpKernel>, [](GradientContext& g) {
            const Reduction r(g);
            g.give(0, r.gradient * apply("Exp", {r.x - r.y}));
        });

    describe(table, "ReduceSum", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceMean", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceMax", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceMin", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceProd", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceL1", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceL2", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({3, 4})}, {{"axes", Integers{1}}});
    describe(table, "ReduceSumSquare",
             "data → reduced: the axes have size 1, or are removed without keepdims", {operand({3, 4})},
             {{"axes", Integers{1}}});
    describe(table, "ReduceLogSum", "data → reduced: the axes have size 1, or are removed without keepdims",
             {operand({2, 3}, {1, 2, 3, 4, 5, 6})}, {{"axes", Integers{1}}});
    describe(table, "ReduceLogSumExp",
             "data → reduced: the axes have size 1, or are removed without keepdims", {operand({3, 4})},
             {{"axes", Integers{1}}});
}

} // namespace twb
