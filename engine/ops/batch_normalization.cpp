#include "backends/cpu/dense_input.h"
#include "backends/cpu/lane_sum.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel.h"
#include "ops/activation_functions.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/normalization_parts.h"
#include "ops/planes.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace twb {
namespace {

void inferBatchNormalization(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() < 1) ctx.fail("shape-mismatch", 0, "expected at least 1D input (got 0D input)");
    const std::int64_t channels = x.shape.rank() > 1 ? x.shape[1] : 1;
    for (int port : {1, 2, 3, 4}) requireChannels(ctx, port, channels);
    ctx.output(0, x);
    ctx.output(1, *ctx.input(3));
    ctx.output(2, *ctx.input(3));
}

/// y = factor · x + added, by channel; with Relu, if `ends`.
template <class T>
void scalePlanes(const DenseInput& x, const Planes& p, T* y, const std::vector<double>& factor,
                 const std::vector<double>& added, bool ends) {
    parallelRanges(p.batch * p.channels, p.batch * p.channels * p.size, 1,
                   [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t plane = begin; plane < end; ++plane) {
                           const auto c = static_cast<std::size_t>(plane % p.channels);
                           const T a = static_cast<T>(factor[c]);
                           const T b = static_cast<T>(added[c]);
                           const T* const from = x.as<T>() + plane * p.size;
                           T* const to = y + plane * p.size;
                           if (ends)
                               for (std::int64_t i = 0; i < p.size; ++i)
                                   to[i] = element::Relu{}(from[i] * a + b);
                           else
                               for (std::int64_t i = 0; i < p.size; ++i) to[i] = from[i] * a + b;
                       }
                   });
}

/// The same for channels-last tensors.
template <class T>
void scaleRows(const T* x, const Planes& p, T* y, const std::vector<double>& factor,
               const std::vector<double>& added, bool ends) {
    const std::vector<T> a(factor.begin(), factor.end());
    const std::vector<T> b(added.begin(), added.end());
    const auto channels = static_cast<std::size_t>(p.channels);
    parallelRanges(p.batch * p.size, p.batch * p.channels * p.size, 1,
                   [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                           const T* const from = x + row * p.channels;
                           T* const to = y + row * p.channels;
                           if (ends)
                               for (std::size_t c = 0; c < channels; ++c)
                                   to[c] = element::Relu{}(from[c] * a[c] + b[c]);
                           else
                               for (std::size_t c = 0; c < channels; ++c) to[c] = from[c] * a[c] + b[c];
                       }
                   });
}

void writeNumbers(const TensorView& to, const std::vector<double>& values) {
    withFloat(to.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < values.size(); ++i) to.as<T>()[i] = static_cast<T>(values[i]);
    });
}

void batchNormalizationLoops(const KernelContext& ctx) {
    const TensorView& given = ctx.inputs[0];
    const TensorView& y = ctx.outputs[0];
    const bool training = ctx.attributes.flag("training_mode");
    const DenseInput x(training || isDense(y) ? given : TensorView{});
    const Planes p(given.shape);
    const double epsilon = ctx.attributes.number("epsilon");
    std::vector<double> mean = numbersOf(ctx.inputs[3]);
    std::vector<double> variance = numbersOf(ctx.inputs[4]);
    std::vector<double> runningMean = mean;
    std::vector<double> runningVariance = variance;
    const std::vector<double> scale = numbersOf(ctx.inputs[1]);
    const std::vector<double> bias = numbersOf(ctx.inputs[2]);
    withFloat(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (training) {
            const double momentum = ctx.attributes.number("momentum");
            const auto n = static_cast<double>(p.batch * p.size);
            parallelRanges(
                p.channels, p.batch * p.channels * p.size, 1, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t c = begin; c < end; ++c) {
                        const auto over = [&](const auto& term) {
                            double sum = 0;
                            for (std::int64_t b = 0; b < p.batch; ++b)
                                sum += laneSum(x.as<T>() + (b * p.channels + c) * p.size, p.size, term);
                            return sum / n;
                        };
                        const auto i = static_cast<std::size_t>(c);
                        mean[i] = over([](double v) { return v; });
                        variance[i] = over([m = mean[i]](double v) { return (v - m) * (v - m); });
                        runningMean[i] = runningMean[i] * momentum + mean[i] * (1 - momentum);
                        runningVariance[i] = runningVariance[i] * momentum + variance[i] * (1 - momentum);
                    }
                });
        }
        std::vector<double> factor(scale.size());
        std::vector<double> added(scale.size());
        for (std::size_t c = 0; c < factor.size(); ++c) {
            factor[c] = scale[c] / std::sqrt(variance[c] + epsilon);
            added[c] = bias[c] - mean[c] * factor[c];
        }
        if (y.elementCount() == 0) return;
        // A launch that ends with another activation applies that one afterwards.
        auto* const state = ctx.memory ? static_cast<ProductState*>(ctx.memory->state.get()) : nullptr;
        const bool ends = state && state->ending.activation == ProductActivation::relu;
        if (ends) state->isEnded = true;
        if (isDense(y)) return scalePlanes(x, p, y.as<T>(), factor, added, ends);
        if (!isChannelsLast(given)) copyElements(given, y);
        scaleRows(isChannelsLast(given) ? given.as<const T>() : y.as<const T>(), p, y.as<T>(), factor, added,
                  ends);
    });
    if (ctx.outputs.size() > 1 && ctx.outputs[1].data) writeNumbers(ctx.outputs[1], runningMean);
    if (ctx.outputs.size() > 2 && ctx.outputs[2].data) writeNumbers(ctx.outputs[2], runningVariance);
}

/// Channels-last bf16 tensors. For all others, the loops above are faster than oneDNN's.
bool normalizedNatively(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.dtype != DType::bf16 || y.elementCount() == 0 || !isChannelsLast(y) ||
        ctx.attributes.flag("training_mode"))
        return false;
    for (std::size_t i = 1; i < ctx.outputs.size(); ++i)
        if (ctx.outputs[i].data) return false;
    const auto floats = [&](std::size_t port) {
        const std::vector<double> values = numbersOf(ctx.inputs[port]);
        return std::vector<float>(values.begin(), values.end());
    };
    return onednn::normalizeChannels(
        ctx.inputs[0], {.mean = floats(3), .variance = floats(4), .scale = floats(1), .bias = floats(2)},
        ctx.attributes.number("epsilon"), y);
}

void batchNormalizationKernel(const KernelContext& ctx) {
    if (!normalizedNatively(ctx)) viaFloat<batchNormalizationLoops>(ctx);
}

void inferBatchNormalizationGrad(InferContext& ctx) {
    const TensorType& x = *ctx.input(1);
    const Shape& dy = ctx.input(0)->shape;
    if (x.shape.rank() < 1) ctx.fail("shape-mismatch", 1, "expected at least 1D input (got 0D input)");
    bool isSame = dy.rank() == x.shape.rank();
    for (int axis = 0; isSame && axis < dy.rank(); ++axis)
        isSame = dy[axis] == x.shape[axis] || dy[axis] == kUnknownDim || x.shape[axis] == kUnknownDim;
    if (!isSame)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("the gradient of a result must have its shape {}, but has shape {}",
                             x.shape.toTorchString(), dy.toTorchString()));
    requireChannels(ctx, 2, x.shape.rank() > 1 ? x.shape[1] : 1);
    ctx.output(0, x);
    ctx.output(1, *ctx.input(2));
    ctx.output(2, *ctx.input(2));
}

/// Sums over one channel of dY (the gradient of the result) and d = x − x₀, where x₀ is the channel's first
/// element. x₀ is at most √n standard deviations from the mean, so Σ d² − (Σ d)² / n loses little precision.
struct GradientSums {
    double distance = 0, square = 0, dy = 0, product = 0; ///< product: Σ dY · d

    /// Independent lanes, for SIMD. The order of additions depends only on the count.
    template <class T> void add(const T* x, const T* gradient, std::int64_t count, double from) {
        constexpr std::int64_t lanes = 4;
        std::array<double, lanes> distances{};
        std::array<double, lanes> squares{};
        std::array<double, lanes> gradients{};
        std::array<double, lanes> products{};
        const auto take = [&](std::int64_t i, std::size_t lane) {
            const double d = static_cast<double>(x[i]) - from;
            const auto g = static_cast<double>(gradient[i]);
            distances[lane] += d;
            squares[lane] += d * d;
            gradients[lane] += g;
            products[lane] += g * d;
        };
        std::int64_t i = 0;
        for (; i + lanes <= count; i += lanes)
            for (std::int64_t k = 0; k < lanes; ++k) take(i + k, static_cast<std::size_t>(k));
        for (; i < count; ++i) take(i, 0);
        for (std::size_t k = 0; k < lanes; ++k) {
            distance += distances[k];
            square += squares[k];
            dy += gradients[k];
            product += products[k];
        }
    }
};

/// The gradient of X from that of Y, for the elements of one channel.
template <class T> struct BackThroughChannel {
    T factor, offset, mean, slope;
    T operator()(T dy, T x) const { return dy * factor - offset - (x - mean) * slope; }
};

void batchNormalizationGradLoops(const KernelContext& ctx) {
    const DenseInput dy(ctx.inputs[0]);
    const DenseInput x(ctx.inputs[1]);
    const TensorView& dx = ctx.outputs[0]; // may be the memory of dY or X
    const Planes p(x.shape());
    const double epsilon = ctx.attributes.number("epsilon");
    const std::vector<double> scale = numbersOf(ctx.inputs[2]);
    std::vector<double> ofScale(scale.size());
    std::vector<double> ofBias(scale.size());
    const auto n = static_cast<double>(p.batch * p.size);
    const auto differentiateChannel = [&]<class T>(std::int64_t c, T* out) {
        const auto overPlanes = [&](const auto& plane) {
            for (std::int64_t b = 0; b < p.batch; ++b) plane((b * p.channels + c) * p.size);
        };
        const auto from = static_cast<double>(x.as<T>()[c * p.size]);
        GradientSums sums;
        overPlanes([&](std::int64_t at) { sums.add(x.as<T>() + at, dy.as<T>() + at, p.size, from); });
        const auto i = static_cast<std::size_t>(c);
        const double toMean = sums.distance / n;
        const double variance = std::max(sums.square - sums.distance * toMean, 0.0) / n;
        const double inverse = 1 / std::sqrt(variance + epsilon);
        const double factor = scale[i] * inverse;
        ofBias[i] = sums.dy;
        ofScale[i] = (sums.product - sums.dy * toMean) * inverse;
        const BackThroughChannel<T> back{static_cast<T>(factor), static_cast<T>(factor * ofBias[i] / n),
                                         static_cast<T>(from + toMean),
                                         static_cast<T>(factor * inverse * ofScale[i] / n)};
        overPlanes([&, back, count = p.size](std::int64_t at) {
            const T* const gradient = dy.as<T>() + at;
            const T* const element = x.as<T>() + at;
            T* const to = out + at;
#pragma omp simd
            for (std::int64_t k = 0; k < count; ++k) to[k] = back(gradient[k], element[k]);
        });
    };
    withFloat(dx.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t total = dx.elementCount();
        if (total == 0) return;
        parallelRanges(p.channels, total * 4, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) differentiateChannel(c, dx.as<T>());
        });
    });
    if (ctx.outputs.size() > 1 && ctx.outputs[1].data) writeNumbers(ctx.outputs[1], ofScale);
    if (ctx.outputs.size() > 2 && ctx.outputs[2].data) writeNumbers(ctx.outputs[2], ofBias);
}

void batchNormalizationGradient(GradientContext& g) {
    const GraphTensor x = g.input(0);
    const int rank = x.shape().rank();
    const double epsilon = g.attributes().number("epsilon");
    if (g.attributes().flag("training_mode")) {
        if (g.gradient(1) || g.gradient(2))
            g.refuse("BatchNormalization has no gradient for its running mean and variance");
        const GraphTensor dx =
            apply("BatchNormalizationGrad", {g.gradient(), x, g.input(1)}, {{"epsilon", epsilon}});
        g.give(0, dx);
        g.give(1, outputOf(dx, 1));
        g.give(2, outputOf(dx, 2));
        return;
    }
    const DType dtype = x.type().dtype;
    const GraphTensor inverse = 1 / apply("Sqrt", {perChannel(g.input(4), dtype, rank) + epsilon});
    const GraphTensor centred = x - perChannel(g.input(3), dtype, rank);
    const GraphTensor scaled = g.gradient() * perChannel(g.input(1), dtype, rank) * inverse;
    g.give(0, scaled);
    if (g.isWanted(1)) givePerChannel(g, 1, g.gradient() * centred * inverse);
    givePerChannel(g, 2, g.gradient());
    if (g.isWanted(3)) givePerChannel(g, 3, -scaled);
    if (g.isWanted(4)) givePerChannel(g, 4, scaled * centred * inverse * inverse * -0.5);
}

/// BatchNormalizationGrad by simpler ops.
std::vector<GraphTensor> batchNormalizationGradOf(GradientContext& g) {
    const GraphTensor dy = g.input(0);
    const GraphTensor x = g.input(1);
    const GraphTensor scale = g.input(2);
    const int rank = x.shape().rank();
    const std::vector<std::int64_t> axes = axesBeside(1, rank, 0);
    const Standardized standard(x, axes, g.attributes().number("epsilon"));
    const auto sumOfChannels = [&](GraphTensor of) {
        return cast(reshape(sumOver(of, axes), scale.shape()), scale.type().dtype);
    };
    return {standard.back(dy * perChannel(scale, dy.type().dtype, rank)),
            sumOfChannels(dy * standard.result()), sumOfChannels(dy)};
}

} // namespace

void addBatchNormalizations(std::vector<Op>& table) {
    Op batch = makeNormalization("BatchNormalization", 15,
                                 "Normalises each channel by the given mean and variance; in training, by "
                                 "the mean and variance of the batch",
                                 "Y = (X − mean) / √(var + ε) · scale + B", 2);
    batch.inputs = {port("X", "input", kFloats, "T"), port("scale", "weight", kFloats, "T1"),
                    port("B", "bias", kFloats, "T1"), port("input_mean", "running_mean", kFloats, "T2"),
                    port("input_var", "running_var", kFloats, "T2")};
    batch.outputs = {port("Y", "", kFloats, "T"), port("running_mean", "", kFloats, "T2"),
                     port("running_var", "", kFloats, "T2")};
    batch.outputs[1].optional = batch.outputs[2].optional = true;
    batch.attributes = {epsilonAttribute(),
                        numberAttribute("momentum", 0.9, "Weight of the old running mean in the new one"),
                        flagAttribute("training_mode", false, "Use mean and variance of this batch")};
    batch.inPlace = {0};
    batch.channelsLast = ChannelsLast::either;
    batch.infer = inferBatchNormalization;
    batch.kernel = batchNormalizationKernel;
    batch.gradient = batchNormalizationGradient;
    table.push_back(std::move(batch));

    Op back =
        makeNormalization("BatchNormalizationGrad", 0,
                          "The gradients of the input, scale and bias of a BatchNormalization in training",
                          "dX = (dY − mean dY − X̂ · mean(dY · X̂)) / √(var + ε) · scale", 12);
    back.inputs = {port("dY", "grad_out", kFloats, "T"), port("X", "input", kFloats, "T"),
                   port("scale", "weight", kFloats, "T1")};
    back.outputs = {port("dX", "", kFloats, "T"), port("dscale", "", kFloats, "T1"),
                    port("dB", "", kFloats, "T1")};
    back.outputs[1].optional = back.outputs[2].optional = true;
    back.category = "Training";
    back.attributes = {epsilonAttribute()};
    back.inPlace = {0, 1};
    back.infer = inferBatchNormalizationGrad;
    back.kernel = viaFloat<batchNormalizationGradLoops>;
    back.gradient = [](GradientContext& g) { differentiate(g, batchNormalizationGradOf); };
    table.push_back(std::move(back));

    describe(table, "BatchNormalization",
             "X [n, c, d…] · scale, B, input_mean and input_var [c] → Y [n, c, d…]",
             {operand({2, 3, 4}), operand({3}), operand({3}), operand({3}), operand({3}, {1, 2, 0.5})});
    describe(table, "BatchNormalizationGrad",
             "dY and X [n, c, d…] · scale [c] → dX [n, c, d…], dscale and dB [c]",
             {operand({2, 3, 4}), operand({2, 3, 4}), operand({3})});
}

} // namespace twb
