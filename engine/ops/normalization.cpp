#include "backends/cpu/dense_input.h"
#include "backends/cpu/lane_sum.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
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

/// Mean and population variance in two passes, since the difference of large squares would lose precision.
struct Moments {
    double mean = 0, variance = 0;
};

template <class T> Moments momentsOf(const T* x, std::int64_t count) {
    const auto n = static_cast<double>(count);
    Moments m;
    m.mean = laneSum(x, count, [](double v) { return v; }) / n;
    m.variance = laneSum(x, count, [mean = m.mean](double v) { return (v - mean) * (v - mean); }) / n;
    return m;
}

/// Rows that are normalized independently, each with its own factors: calls one(row, x, y, length).
template <class T, class One>
void overRows(const TensorView& out, std::int64_t rows, const DenseInput& x, const One& one) {
    const std::int64_t total = out.elementCount();
    if (total == 0) return;
    const std::int64_t length = total / rows;
    parallelRanges(rows, total * 4, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r)
            one(r, x.as<T>() + r * length, out.as<T>() + r * length, length);
    });
}

void inferInstanceNormalization(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() < 3)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Expected an input of batch, channels and at least one spatial axis to {}, but got "
                        "input of size: {}",
                        ctx.op().name, x.shape.toTorchString()));
    for (int port : {1, 2}) requireChannels(ctx, port, x.shape[1]);
    ctx.output(0, x);
}

void instanceNormalizationKernel(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const Planes p(x.shape());
    const auto scale = numbersOf(ctx.inputs[1]);
    const auto bias = numbersOf(ctx.inputs[2]);
    const double epsilon = ctx.attributes.number("epsilon");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        overRows<T>(ctx.outputs[0], p.batch * p.channels, x,
                    [&](std::int64_t row, const T* from, T* to, std::int64_t length) {
                        const Moments m = momentsOf(from, length);
                        const auto c = static_cast<std::size_t>(row % p.channels);
                        const double factor = scale[c] / std::sqrt(m.variance + epsilon);
                        for (std::int64_t i = 0; i < length; ++i)
                            to[i] = static_cast<T>((from[i] - m.mean) * factor + bias[c]);
                    });
    });
}

void inferGroupNormalization(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() < 2)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Expected at least 2 dimensions for input tensor but received {}", x.shape.rank()));
    const std::int64_t groups = ctx.attributes().integer("num_groups");
    if (x.shape[1] != kUnknownDim && x.shape[1] % groups != 0)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Expected number of channels in input to be divisible by num_groups, but got input "
                        "of shape {} and num_groups={}",
                        x.shape.toTorchString(), groups));
    for (int port : {1, 2}) requireChannels(ctx, port, x.shape[1]);
    ctx.output(0, x);
}

void groupNormalizationKernel(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const Planes p(x.shape());
    const auto scale = numbersOf(ctx.inputs[1]);
    const auto bias = numbersOf(ctx.inputs[2]);
    const double epsilon = ctx.attributes.number("epsilon");
    const std::int64_t groups = ctx.attributes.integer("num_groups");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        overRows<T>(ctx.outputs[0], p.batch * groups, x,
                    [&](std::int64_t row, const T* from, T* to, std::int64_t length) {
                        const Moments m = momentsOf(from, length);
                        const double factor = 1 / std::sqrt(m.variance + epsilon);
                        const std::int64_t first = row % groups * (p.channels / groups);
                        for (std::int64_t i = 0; i < length; ++i) {
                            const auto c = static_cast<std::size_t>(first + i / p.size);
                            to[i] = static_cast<T>((from[i] - m.mean) * factor * scale[c] + bias[c]);
                        }
                    });
    });
}

/// Moves the reduced axes of LpNormalization and MeanVarianceNormalization next to each other, so that two
/// loops address the results and the elements of each.
template <class T, class One>
void overSlices(const TensorView& given, const TensorView& out, const std::array<bool, kMaxRank>& along,
                const One& one) {
    TensorView kept{nullptr, given.dtype, {}, {}};
    TensorView slice = kept;
    std::vector<std::int64_t> keptSizes;
    std::vector<std::int64_t> sliceSizes;
    const Strides strides = denseStrides(given.shape);
    for (int axis = 0; axis < given.shape.rank(); ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        (along[a] ? sliceSizes : keptSizes).push_back(given.shape[axis]);
        (along[a] ? slice : kept).strides.push_back(strides[a]);
    }
    kept.shape = Shape(keptSizes);
    slice.shape = Shape(sliceSizes);
    if (out.elementCount() == 0) return;
    const DenseInput x(given);
    const StridedLoop<1> outer(kept.shape, {&kept});
    const StridedLoop<1> inner(slice.shape, {&slice});
    parallelRangesThrowing(
        outer.total(), out.elementCount() * 4, 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> row(static_cast<std::size_t>(inner.total()));
            outer.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t base = offsets[0] + i * outer.innerStride(0);
                    const auto walk = [&](const auto& move) {
                        std::size_t at = 0;
                        inner.rows(0, inner.total(), [&](const auto& places, std::int64_t length) {
                            for (std::int64_t k = 0; k < length; ++k, ++at)
                                move(base + places[0] + k * inner.innerStride(0), row[at]);
                        });
                    };
                    walk([&](std::int64_t at, T& value) { value = x.as<T>()[at]; });
                    one(row.data(), inner.total());
                    walk([&](std::int64_t at, const T& value) { out.as<T>()[at] = value; });
                }
            });
        });
}

void inferLpNormalization(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    axisOrFail(ctx, ctx.attributes().integer("axis"), x.shape.rank(), -1);
    ctx.output(0, x);
}

void lpNormalizationKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    std::array<bool, kMaxRank> along{};
    along[static_cast<std::size_t>(
        *normalizeAxis(ctx.attributes.integer("axis"), std::max(in.shape.rank(), 1)))] = true;
    const bool squares = ctx.attributes.integer("p") == 2;
    withFloat(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        overSlices<T>(in, ctx.outputs[0], along, [&](T* row, std::int64_t length) {
            const double norm = squares ? std::sqrt(laneSum(row, length, [](double v) { return v * v; }))
                                        : laneSum(row, length, [](double v) { return std::abs(v); });
            // A row of norm 0 stays 0.
            for (std::int64_t i = 0; i < length; ++i)
                row[i] = norm == 0 ? T{0} : static_cast<T>(row[i] / norm);
        });
    });
}

std::array<bool, kMaxRank> axesOf(const Attributes& attributes, int rank) {
    std::array<bool, kMaxRank> along{};
    for (std::int64_t axis : attributes.integers("axes")) {
        const auto at = normalizeAxis(axis, std::max(rank, 1));
        if (!at)
            throw InferError(
                "attribute", -1,
                fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                            -std::max(rank, 1), std::max(rank, 1) - 1, axis));
        along[static_cast<std::size_t>(*at)] = true;
    }
    return along;
}

void inferMeanVariance(InferContext& ctx) {
    axesOf(ctx.attributes(), ctx.input(0)->shape.rank());
    ctx.output(0, *ctx.input(0));
}

void meanVarianceGradient(GradientContext& g) {
    constexpr double epsilon = 1e-9; // of the deviation
    const auto along = axesOf(g.attributes(), g.input().shape().rank());
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < g.input().shape().rank(); ++axis)
        if (along[static_cast<std::size_t>(axis)]) axes.push_back(axis);
    const GraphTensor centered = g.input() - meanOver(g.input(), axes);
    const GraphTensor deviation = apply("Sqrt", {meanOver(centered * centered, axes)});
    const GraphTensor divisor = deviation + epsilon;
    const GraphTensor dy = g.gradient();
    const GraphTensor slope = meanOver(dy * centered, axes) / (deviation * divisor);
    g.give(0, (dy - meanOver(dy, axes) - centered * slope) / divisor);
}

void meanVarianceKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const auto along = axesOf(ctx.attributes, in.shape.rank());
    withFloat(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        overSlices<T>(in, ctx.outputs[0], along, [](T* row, std::int64_t length) {
            const Moments m = momentsOf(row, length);
            // As in ONNX's function, the lower bound applies to the standard deviation, not to the variance.
            const double deviation = std::sqrt(m.variance) + 1e-9;
            for (std::int64_t i = 0; i < length; ++i) row[i] = static_cast<T>((row[i] - m.mean) / deviation);
        });
    });
}

AttributeSpec stashAttribute() {
    return integerAttribute("stash_type", 1, "ONNX's code of the dtype used for sums; at least f32 is used");
}

void scaledGradient(GradientContext& g, GraphTensor x, const Standardized& standard) {
    const GraphTensor dy = g.gradient();
    const int rank = g.input(0).shape().rank();
    const GraphTensor scaled = dy * perChannel(g.input(1), dy.type().dtype, rank);
    if (g.isWanted(0)) g.give(0, reshape(standard.back(reshape(scaled, x.shape())), dy.shape()));
    if (g.isWanted(1)) givePerChannel(g, 1, dy * reshape(standard.result(), dy.shape()));
    givePerChannel(g, 2, dy);
}

void instanceNormalizationGradient(GradientContext& g) {
    const GraphTensor x = g.input(0);
    scaledGradient(g, x,
                   Standardized(x, axesBeside(1, x.shape().rank(), 2), g.attributes().number("epsilon")));
}

void groupNormalizationGradient(GradientContext& g) {
    const Shape& shape = g.input(0).shape();
    const std::int64_t groups = g.attributes().integer("num_groups");
    const std::int64_t rows = shape[0] * groups;
    const GraphTensor x = reshape(g.input(0), {rows, rows == 0 ? 0 : shape.elementCount() / rows});
    scaledGradient(g, x, Standardized(x, {1}, g.attributes().number("epsilon")));
}

/// y = x / norm, whose gradient is (dy - d(norm) . sum(dy . y)) / norm.
void lpNormalizationGradient(GradientContext& g) {
    const std::int64_t given = g.attributes().integer("axis");
    const std::vector<std::int64_t> axis{given < 0 ? given + g.input().shape().rank() : given};
    const bool isEuclidean = g.attributes().integer("p") == 2;
    const GraphTensor norm = apply(isEuclidean ? "ReduceL2" : "ReduceL1", {g.input()}, {{"axes", axis}});
    const GraphTensor slope = isEuclidean ? g.output() : apply("Sign", {g.input()});
    const GraphTensor dx = (g.gradient() - slope * sumOver(g.gradient() * g.output(), axis)) / norm;
    g.give(0, where(isEqual(norm, 0.0), 0, dx)); // the result at 0 is 0 itself
}

} // namespace

void addNormalizations(std::vector<Op>& table) {
    addBatchNormalizations(table);
    Op instance = makeNormalization("InstanceNormalization", 22,
                                    "Normalises each channel of each image to mean 0 and variance 1",
                                    "Y = (X − mean) / √(var + ε) · scale + B", 8);
    instance.inputs = {port("input", "input", kFloats, "T"), port("scale", "weight", kFloats, "T"),
                       port("B", "bias", kFloats, "T")};
    instance.outputs = {port("output", "", kFloats, "T")};
    instance.attributes = {epsilonAttribute()};
    instance.infer = inferInstanceNormalization;
    instance.kernel = viaFloat<instanceNormalizationKernel>;
    instance.gradient = instanceNormalizationGradient;
    table.push_back(std::move(instance));

    Op group = makeNormalization("GroupNormalization", 21,
                                 "Normalises groups of channels of each image to mean 0 and variance 1",
                                 "Y = (X − mean) / √(var + ε) · scale + bias", 8);
    group.inputs = {port("X", "input", kFloats, "T"), port("scale", "weight", kFloats, "T"),
                    port("bias", "bias", kFloats, "T")};
    group.outputs = {port("Y", "", kFloats, "T")};
    AttributeSpec groups = integerAttribute("num_groups", 1, "Number of groups of channels");
    groups.minimum = 1;
    group.attributes = {epsilonAttribute(), std::move(groups), stashAttribute()};
    group.infer = inferGroupNormalization;
    group.kernel = viaFloat<groupNormalizationKernel>;
    group.gradient = groupNormalizationGradient;
    table.push_back(std::move(group));

    Op lp =
        makeNormalization("LpNormalization", 22,
                          "Divides by the p-norm along an axis, as PyTorch's normalize", "Y = X / ‖X‖ₚ", 4);
    lp.torch = "F.normalize({0}, {p}, {axis}, eps=1e-30)";
    lp.inputs = {port("input", "input", kFloats, "T")};
    lp.outputs = {port("output", "", kFloats, "T")};
    AttributeSpec power = integerAttribute("p", 2, "The norm's power: 1 or 2");
    power.minimum = 1;
    power.maximum = 2;
    lp.attributes = {integerAttribute("axis", -1, "The axis along which to normalise"), std::move(power)};
    lp.infer = inferLpNormalization;
    lp.kernel = viaFloat<lpNormalizationKernel>;
    lp.gradient = lpNormalizationGradient;
    table.push_back(std::move(lp));

    Op meanVariance = makeNormalization("MeanVarianceNormalization", 13,
                                        "Normalises the elements along some axes to mean 0 and variance 1",
                                        "Y = (X − mean) / (√var + 1e-9)", 8);
    meanVariance.torch =
        "({0} - {0}.mean({axes}, True)) / (torch.sqrt({0}.var({axes}, unbiased=False, keepdim=True)) + 1e-9)";
    meanVariance.inputs = {port("X", "input", kFloats, "T")};
    meanVariance.outputs = {port("Y", "", kFloats, "T")};
    AttributeSpec axes = integersAttribute("axes", "Axes over which mean and variance are taken");
    axes.defaultValue = std::vector<std::int64_t>{0, 2, 3};
    meanVariance.attributes = {std::move(axes)};
    meanVariance.infer = inferMeanVariance;
    meanVariance.kernel = viaFloat<meanVarianceKernel>;
    meanVariance.gradient = meanVarianceGradient;
    table.push_back(std::move(meanVariance));

    describe(table, "InstanceNormalization", "input [n, c, d…] · scale and B [c] → output [n, c, d…]",
             {operand({2, 3, 4}), operand({3}), operand({3})});
    describe(table, "GroupNormalization",
             "X [n, c, d…] · scale and bias [c] → Y [n, c, d…]; num_groups divides c",
             {operand({1, 4, 3}), operand({4}), operand({4})}, {{"num_groups", std::int64_t{2}}});
    describe(table, "LpNormalization", "output has the shape of input");
    describe(table, "MeanVarianceNormalization", "Y has the shape of X", {operand({2, 2, 3, 3})});
}

} // namespace twb
