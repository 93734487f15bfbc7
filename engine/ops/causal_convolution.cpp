#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/activation_functions.h"
#include "ops/attention_heads.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twb {
namespace {

void inferCausalConvolution(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const Shape& weight = ctx.input(1)->shape;
    for (const int port : {0, 1})
        if (ctx.input(port)->shape.rank() != 3)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have three axes, but has size {}", ctx.op().inputAt(port).argument,
                                 ctx.input(port)->shape.toTorchString()));
    if (!meets(weight[0], x.shape[1]) || !meets(weight[1], 1) || weight[2] == 0)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("weight must have size [{}, 1, k] with k of at least 1, but has {}", x.shape[1],
                             weight.toTorchString()));
    const TensorType* bias = ctx.input(2);
    if (bias && (bias->shape.rank() != 1 || !meets(bias->shape[0], x.shape[1])))
        ctx.fail(
            "shape-mismatch", 2,
            fmt::format("bias must have size [{}], but has {}", x.shape[1], bias->shape.toTorchString()));
    const Shape state{x.shape[0], x.shape[1], weight[2] == kUnknownDim ? kUnknownDim : weight[2] - 1};
    if (const TensorType* past = ctx.input(3)) {
        bool fits = past->shape.rank() == 3;
        for (int i = 0; fits && i < 3; ++i) fits = meets(past->shape[i], state[i]);
        if (!fits)
            ctx.fail("shape-mismatch", 3,
                     fmt::format("past_state must have size {}, but has {}", state.toTorchString(),
                                 past->shape.toTorchString()));
    }
    ctx.output(0, x);
    ctx.output(1, {x.dtype, state});
}

template <class T> void convolveCausally(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const DenseInput weight(ctx.inputs[1]);
    const DenseInput bias = denseInput(ctx.inputs, 2);
    const DenseInput past = denseInput(ctx.inputs, 3);
    const std::int64_t channels = x.shape()[1];
    const std::int64_t length = x.shape()[2];
    const std::int64_t taps = weight.shape()[2];
    const std::int64_t before = taps - 1;
    const bool isSwish = ctx.attributes.text("activation") != "none";
    T* const y = ctx.outputs[0].as<T>();
    T* const present = ctx.outputs.size() > 1 ? ctx.outputs[1].as<T>() : nullptr;
    const std::int64_t lines = x.shape()[0] * channels;
    parallelRanges(lines, lines * length * taps, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> padded(static_cast<std::size_t>(before + length)); // the past, then the line
        for (std::int64_t line = begin; line < end; ++line) {
            if (past) std::copy_n(past.as<T>() + line * before, before, padded.data());
            std::copy_n(x.as<T>() + line * length, length, padded.data() + before);
            if (present) std::copy_n(padded.data() + length, before, present + line * before);
            if (!y) continue;
            const std::int64_t channel = line % channels;
            T* const to = y + line * length;
            std::fill_n(to, length, bias ? bias.as<T>()[channel] : T{0});
            for (std::int64_t k = 0; k < taps; ++k) {
                const T factor = weight.as<T>()[channel * taps + k];
                const T* const from = padded.data() + k;
                for (std::int64_t i = 0; i < length; ++i) to[i] += factor * from[i];
            }
            if (isSwish) std::transform(to, to + length, to, element::Swish{1});
        }
    });
}

void causalConvolutionKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { convolveCausally<decltype(zero)>(ctx); });
}

std::vector<GraphTensor> causalConvolutionOf(GradientContext& g) {
    const GraphTensor x = g.input(0);
    const GraphTensor weight = g.input(1);
    const Shape& shape = x.shape();
    const std::int64_t before = weight.shape()[2] - 1;
    GraphTensor padded = x;
    if (before > 0)
        padded = concat(
            g, {g.input(3) ? g.input(3) : full(g, {x.type().dtype, {shape[0], shape[1], before}}, 0), x}, 2);
    const GraphTensor present = slice(padded, 2, shape[2], shape[2] + before);
    if (shape.elementCount() == 0) return {x, present};
    const Attributes attributes{{"group", shape[1]}};
    const GraphTensor y = g.input(2) ? apply("Conv", {padded, weight, g.input(2)}, attributes)
                                     : apply("Conv", {padded, weight}, attributes);
    return {g.attributes().text("activation") == "none" ? y : apply("Swish", {y}), present};
}

} // namespace

void addCausalConvolution(std::vector<Op>& table) {
    Op op = makeOp("CausalConvWithState", "Convolution", 27,
                   "Convolution of each channel over past positions, with a state for the next step",
                   "Yᵢ = activation(Σ weightₖ · Xᵢ₋ₖ + bias)");
    op.inputs = {port("input", "input", kFloats, "T"), port("weight", "weight", kFloats, "T"),
                 optionalPort("bias", "bias", kFloats, "T"),
                 optionalPort("past_state", "past_state", kFloats, "T")};
    op.outputs = {port("output", "", kFloats, "T"), port("present_state", "", kFloats, "T")};
    op.outputs[1].optional = true;
    op.attributes = {choiceAttribute("activation", "none", {"none", "silu", "swish"},
                                     "Function of the result; silu and swish are the same one")};
    op.tolerance = {1e-5, 1e-6};
    op.infer = inferCausalConvolution;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 2 * static_cast<double>(inputs[1].shape[2]));
    };
    op.kernel = viaFloat<causalConvolutionKernel>;
    op.gradient = [](GradientContext& g) { differentiate(g, causalConvolutionOf); };
    table.push_back(std::move(op));

    describe(table, "CausalConvWithState",
             "input [n, c, t] · weight [c, 1, k] · bias [c] · past_state [n, c, k − 1] → output [n, c, t]",
             {operand({1, 2, 6}), operand({2, 1, 3})});
}

} // namespace twb
