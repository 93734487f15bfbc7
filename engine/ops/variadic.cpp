#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/math_functions.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

void inferVariadic(InferContext& ctx) {
    const TensorType* first = nullptr;
    Shape shape;
    for (int i = 0; i < ctx.inputCount(); ++i) {
        const TensorType* type = ctx.input(i);
        if (!type) continue;
        shape = first ? broadcastOrFail(ctx, i, shape, type->shape) : type->shape;
        if (!first) first = type;
    }
    if (!first) ctx.fail("missing-input", 0, fmt::format("{} needs at least one input", ctx.op().name));
    ctx.output(0, {first->dtype, std::move(shape)});
}

Cost variadicCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) {
    return streamingCost(inputs, outputs, static_cast<double>(inputs.size()));
}

/// Folds all inputs into the output in order. inPlace is not set, because the first pass writes the output
/// before later passes read their inputs.
template <class T, class F> void fold(const KernelContext& ctx, const F& f) {
    const TensorView& out = ctx.outputs[0];
    const TensorView* held = nullptr;
    bool written = false;
    for (const TensorView& in : ctx.inputs) {
        if (!in.data) continue;
        if (held) {
            zipElements<T, T, T>(*held, in, out, f);
            held = &out;
            written = true;
        } else {
            held = &in;
        }
    }
    if (held && !written) copyElements(*held, out);
}

template <class F> void foldNumbers(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) { fold<decltype(zero)>(ctx, F{}); });
}

void sumKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { fold<decltype(zero)>(ctx, element::Add{}); });
}

void meanKernel(const KernelContext& ctx) {
    sumKernel(ctx);
    const auto count = std::count_if(ctx.inputs.begin(), ctx.inputs.end(),
                                     [](const TensorView& in) { return in.data != nullptr; });
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.outputs[0], ctx.outputs[0], [n = static_cast<T>(count)](T x) { return x / n; });
    });
}

/// Inputs that tie share the gradient equally, as in PyTorch.
void extremeGradient(GradientContext& g) {
    const DType dtype = g.output().type().dtype;
    std::vector<GraphTensor> chosen;
    GraphTensor count;
    for (int i = 0; i < g.inputCount(); ++i) {
        chosen.push_back(isEqual(g.input(i), g.output()));
        const GraphTensor one = cast(chosen.back(), dtype);
        count = count ? count + one : one;
    }
    const GraphTensor share = g.gradient() / count;
    for (int i = 0; i < g.inputCount(); ++i)
        if (g.isWanted(i)) g.give(i, where(chosen[static_cast<std::size_t>(i)], share));
}

void meanGradient(GradientContext& g) {
    const GraphTensor share = g.gradient() / static_cast<double>(g.inputCount());
    for (int i = 0; i < g.inputCount(); ++i) g.give(i, share);
}

Op makeVariadic(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
                std::string output, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Pointwise", opset, std::move(doc), std::move(formula));
    op.inputs = {variadicPort("data_0", "tensors", types, "T")};
    op.outputs = {port(std::move(output), "", types, "T")};
    op.elementwise = true;
    op.channelsLast = ChannelsLast::pointwise;
    op.infer = inferVariadic;
    op.cost = variadicCost;
    op.kernel = kernel;
    return op;
}

} // namespace

void addVariadic(std::vector<Op>& table) {
    table.push_back(makeVariadic("Max", 13, "Elementwise maximum; NaN counts as the largest",
                                 "Y = max(X₀, X₁, …)", kNumbers, "max", viaFloat<foldNumbers<element::Max>>));
    table.back().element = {"Max"};
    table.back().gradient = extremeGradient;
    table.push_back(makeVariadic("Min", 13, "Elementwise minimum; NaN counts as the smallest",
                                 "Y = min(X₀, X₁, …)", kNumbers, "min", viaFloat<foldNumbers<element::Min>>));
    table.back().element = {"Min"};
    table.back().gradient = extremeGradient;
    Op sum = makeVariadic("Sum", 13, "Sum of any number of tensors, with broadcasting", "Y = X₀ + X₁ + …",
                          kFloats, "sum", viaFloat<sumKernel>);
    sum.tolerance = {1e-6, 1e-6};
    sum.gradient = [](GradientContext& g) {
        for (int i = 0; i < g.inputCount(); ++i) g.give(i, g.gradient());
    };
    table.push_back(std::move(sum));
    Op mean = makeVariadic("Mean", 13, "Mean of any number of tensors, with broadcasting",
                           "Y = (X₀ + X₁ + …) / n", kFloats, "mean", viaFloat<meanKernel>);
    mean.tolerance = {1e-6, 1e-6};
    mean.gradient = meanGradient;
    table.push_back(std::move(mean));

    describe(table, "Max", "The inputs broadcast", {operand({3, 4}), operand({4})});
    describe(table, "Min", "The inputs broadcast", {operand({3, 4}), operand({4})});
    describe(table, "Sum", "The inputs broadcast", {operand({3, 4}), operand({4})});
    describe(table, "Mean", "The inputs broadcast", {operand({3, 4}), operand({4})});
}

} // namespace twb
