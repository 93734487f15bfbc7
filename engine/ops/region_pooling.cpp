#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/regions.h"
#include "ops/sampled.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace twb {
namespace {

void requireImages(const InferContext& ctx) {
    const Shape& x = ctx.input(0)->shape;
    if (x.rank() != 4)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("{} expects images of batch, channels, height and width, but got input of size: {}",
                        ctx.op().name, x.toTorchString()));
}

std::int64_t regionCount(const InferContext& ctx, std::int64_t columns) {
    const Shape& rois = ctx.input(1)->shape;
    if (rois.rank() != 2 || (rois[1] != columns && rois[1] != kUnknownDim))
        ctx.fail("shape-mismatch", 1,
                 fmt::format("rois must have one row per region and {} columns, but has size {}", columns,
                             rois.toTorchString()));
    return rois[0];
}

/// The regions, after checking values known only at run time.
template <class T> const T* checkedRegions(const DenseInput& rois) {
    const std::int64_t count = rois.view().elementCount();
    for (std::int64_t i = 0; i < count; ++i)
        if (!isRegionCoordinate(rois.as<T>()[i]))
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format(
                    "rois has the coordinate {} at index {}; it must be finite, in pixels of the image",
                    rois.as<T>()[i], i));
    return rois.as<T>();
}

std::int64_t imageOf(std::int64_t index, std::int64_t batch) {
    if (index < 0 || index >= batch)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("a region names image {}, but the batch has {} images", index, batch));
    return index;
}

void inferRoiAlign(InferContext& ctx) {
    requireImages(ctx);
    const TensorType& x = *ctx.input(0);
    const std::int64_t regions = regionCount(ctx, 4);
    const Shape& indices = ctx.input(2)->shape;
    if (indices.rank() != 1 || (indices[0] != regions && indices[0] != kUnknownDim && regions != kUnknownDim))
        ctx.fail("shape-mismatch", 2,
                 fmt::format("batch_indices must have an element for each of {} regions, but has size {}",
                             regions, indices.toTorchString()));
    ctx.output(0, {x.dtype, Shape{regions, x.shape[1], ctx.attributes().integer("output_height"),
                                  ctx.attributes().integer("output_width")}});
}

RegionSizes sizesOf(const DenseInput& x, const TensorView& out) {
    return {x.shape()[1], x.shape()[2], x.shape()[3], out.shape[2], out.shape[3]};
}

template <class T, class Region> void poolRegions(const TensorView& out, const Region& region) {
    T* const y = out.as<T>();
    const std::int64_t count = out.elementCount();
    parallelRanges(count, count * 32, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = region(i);
    });
}

template <class T> void roiAlign(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseInput x(ctx.inputs[0]);
    const DenseInput rois(ctx.inputs[1]);
    const DenseInput indices(ctx.inputs[2]);
    const T* const regions = checkedRegions<T>(rois);
    for (std::int64_t r = 0; r < out.shape[0]; ++r) imageOf(indices.as<std::int64_t>()[r], x.shape()[0]);
    poolRegions<T>(out, RegionAlign<T, T>{
                            sizesOf(x, out), x.as<T>(), regions, indices.as<std::int64_t>(),
                            ctx.attributes.number("spatial_scale"), ctx.attributes.integer("sampling_ratio"),
                            ctx.attributes.text("coordinate_transformation_mode") == "half_pixel",
                            ctx.attributes.text("mode") == "max"});
}

void roiAlignKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { roiAlign<decltype(zero)>(ctx); });
}

std::vector<std::int64_t> pooledSizes(const Attributes& attributes) {
    std::vector<std::int64_t> sizes = attributes.integers("pooled_shape");
    if (sizes.size() != 2)
        throw InferError("attribute", -1, "attribute \"pooled_shape\" must have 2 entries: height and width");
    return sizes;
}

void inferMaxRoiPool(InferContext& ctx) {
    requireImages(ctx);
    const TensorType& x = *ctx.input(0);
    const std::int64_t regions = regionCount(ctx, 5);
    const auto sizes = pooledSizes(ctx.attributes());
    ctx.output(0, {x.dtype, Shape{regions, x.shape[1], sizes[0], sizes[1]}});
}

template <class T> void maxRoiPool(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseInput x(ctx.inputs[0]);
    const DenseInput rois(ctx.inputs[1]);
    const T* const regions = checkedRegions<T>(rois);
    for (std::int64_t r = 0; r < out.shape[0]; ++r)
        imageOf(static_cast<std::int64_t>(regions[r * 5]), x.shape()[0]);
    poolRegions<T>(
        out, RegionMax<T, T>{sizesOf(x, out), x.as<T>(), regions, ctx.attributes.number("spatial_scale")});
}

void maxRoiPoolKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { maxRoiPool<decltype(zero)>(ctx); });
}

/// A column of rois in elements of the image.
GraphTensor cornerOf(GradientContext& g, int column) {
    const GraphTensor rois = g.input(1);
    return reshape(slice(cast(rois, forPositions(rois.type().dtype)), 1, column, column + 1),
                   {rois.shape()[0], 1}) *
           g.attributes().number("spatial_scale");
}

/// RoiAlign by simpler ops. The taps are regions × sample rows × sample columns.
std::vector<GraphTensor> roiAlignOf(GradientContext& g) {
    const Attributes& attributes = g.attributes();
    const std::int64_t ratio = attributes.integer("sampling_ratio");
    if (ratio == 0)
        g.refuse("with sampling_ratio 0 the number of samples depends on the values of rois; set "
                 "sampling_ratio to 1 or more");
    const GraphTensor x = g.input(0);
    const std::int64_t regions = g.input(1).shape()[0];
    const bool halfPixel = attributes.text("coordinate_transformation_mode") == "half_pixel";
    const std::int64_t bins[] = {attributes.integer("output_height"), attributes.integer("output_width")};
    std::vector<AxisTaps> axes;
    for (const int a : {0, 1}) {
        const std::int64_t size = x.shape()[a + 2];
        const std::int64_t samples = bins[a] * ratio;
        const GraphTensor start = cornerOf(g, 1 - a) - (halfPixel ? 0.5 : 0);
        GraphTensor length = cornerOf(g, 3 - a) - (halfPixel ? 0.5 : 0) - start;
        if (!halfPixel) length = within(length, 1, std::numeric_limits<double>::max());
        const auto each = 1 / static_cast<double>(ratio);
        const GraphTensor at = start + length / static_cast<double>(bins[a]) *
                                           progression(g, start.type().dtype, samples, each / 2, each);
        const GraphTensor placed =
            reshape(at, a == 0 ? Shape{regions, samples, 1} : Shape{regions, 1, samples});
        const GraphTensor isInside =
            apply("Not", {apply("Or", {placed<-1, placed> static_cast<double>(size)})});
        AxisTaps taps = tapsAt(within(placed, 0, static_cast<double>(size - 1)), size, GridMode::linear,
                               GridPadding::border, false);
        taps.weight = where(isInside, taps.weight);
        axes.push_back(taps);
    }
    const std::int64_t channels = x.shape()[1];
    const GraphTensor parts =
        reshape(weightedTaps(x, axes, g.input(2)), {2, 2, regions, bins[0], ratio, bins[1], ratio, channels});
    // As in ONNX: the maximum of the weighted elements, not of the samples; those outside are 0.
    const GraphTensor pooled =
        attributes.text("mode") == "max"
            ? apply("ReduceMax", {parts},
                    {{"axes", std::vector<std::int64_t>{0, 1, 4, 6}}, {"keepdims", true}})
            : sumOver(parts, {0, 1, 4, 6}) / static_cast<double>(ratio * ratio);
    return {transpose(reshape(pooled, {regions, bins[0], bins[1], channels}), {0, 3, 1, 2})};
}

/// MaxRoiPool by simpler ops: the maximum along the width of each bin, then along its height.
std::vector<GraphTensor> maxRoiPoolOf(GradientContext& g) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    const GraphTensor x = g.input(0);
    const std::int64_t regions = g.input(1).shape()[0];
    const std::vector<std::int64_t> bins = pooledSizes(g.attributes());
    const auto rounded = [](GraphTensor v) { // halves away from 0
        return apply("Sign", {v}) * floor(apply("Abs", {v}) + 0.5);
    };
    /// Whether a bin covers an element: regions × bins × elements.
    const auto covers = [&](int a) {
        const GraphTensor start = rounded(cornerOf(g, 2 - a));
        const DType dtype = start.type().dtype;
        const std::int64_t count = bins[static_cast<std::size_t>(a)];
        const GraphTensor length =
            within(rounded(cornerOf(g, 4 - a)) - start + 1, 1, std::numeric_limits<double>::max()) /
            static_cast<double>(count);
        const auto edge = [&](GraphTensor v) { return reshape(v, {regions, count, 1}); };
        const GraphTensor begin = edge(floor(progression(g, dtype, count) * length) + start);
        const GraphTensor end = edge(apply("Ceil", {progression(g, dtype, count, 1) * length}) + start);
        const GraphTensor at = progression(g, dtype, x.shape()[a + 2]);
        return apply("And", {apply("GreaterOrEqual", {at, begin}), apply("Less", {at, end})});
    };
    const GraphTensor image = cast(reshape(slice(g.input(1), 1, 0, 1), {regions}), DType::i64);
    const std::int64_t channels = x.shape()[1];
    const std::int64_t height = x.shape()[2];
    const std::int64_t width = x.shape()[3];
    const auto most = [&](GraphTensor isCovered, GraphTensor values, int axis) {
        return apply("ReduceMax", {where(isCovered, values, full(g, {x.type().dtype, {}}, none))},
                     {{"axes", std::vector<std::int64_t>{axis}}, {"keepdims", false}});
    };
    const GraphTensor rows = most(reshape(covers(1), {regions, 1, 1, bins[1], width}),
                                  reshape(gather(x, image, 0), {regions, channels, height, 1, width}), 4);
    const GraphTensor pooled = most(reshape(covers(0), {regions, 1, bins[0], height, 1}),
                                    reshape(rows, {regions, channels, 1, height, bins[1]}), 3);
    return {where(isEqual(pooled, none), 0, pooled)}; // a bin without elements
}

AttributeSpec sizeAttribute(std::string name, std::int64_t value, std::int64_t minimum, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), value, std::move(doc));
    spec.minimum = static_cast<double>(minimum);
    spec.maximum = 65536;
    return spec;
}

} // namespace

void addRegionPooling(std::vector<Op>& table) {
    Op maxPool = makeOp("MaxRoiPool", "Pooling", 22, "Maximum over each bin of each region");
    maxPool.inputs = {port("X", "input", kFloats, "T"), port("rois", "boxes", kFloats, "T")};
    maxPool.outputs = {port("Y", "", kFloats, "T")};
    AttributeSpec pooled = shapeAttribute("pooled_shape", std::nullopt, 1, "Height and width of the results");
    pooled.required = true;
    pooled.maximum = 65536;
    maxPool.attributes = {std::move(pooled),
                          numberAttribute("spatial_scale", 1, "Image elements per unit of rois")};
    maxPool.infer = inferMaxRoiPool;
    maxPool.kernel = viaFloat<maxRoiPoolKernel>;
    maxPool.gradient = [](GradientContext& g) { differentiate(g, maxRoiPoolOf); };
    table.push_back(std::move(maxPool));

    Op align = makeOp("RoiAlign", "Pooling", 22,
                      "Pools interpolated samples in each bin of each region, as torchvision's roi_align");
    align.inputs = {port("X", "input", kFloats, "T1"), port("rois", "boxes", kFloats, "T1"),
                    port("batch_indices", "", DTypeSet{DType::i64})};
    align.outputs = {port("Y", "", kFloats, "T1")};
    align.attributes = {
        choiceAttribute(
            "coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"},
            "half_pixel: an element's centre is at 0.5; output_half_pixel: older rule without this shift"),
        choiceAttribute("mode", "avg", {"avg", "max"}, "Reduction of a bin's samples"),
        sizeAttribute("output_height", 1, 1, "Height of the results"),
        sizeAttribute("output_width", 1, 1, "Width of the results"),
        sizeAttribute("sampling_ratio", 0, 0, "Samples along each side of a bin; 0: one per element"),
        numberAttribute("spatial_scale", 1, "Image elements per unit of rois")};
    align.tolerance = {1e-5, 1e-5};
    align.infer = inferRoiAlign;
    align.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                    const Attributes&) { return streamingCost(inputs, outputs, 32); };
    align.kernel = viaFloat<roiAlignKernel>;
    align.gradient = [](GradientContext& g) { differentiate(g, roiAlignOf); };
    table.push_back(std::move(align));

    describe(table, "MaxRoiPool",
             "X [n, c, h, w] · rois [r, 5], each with its batch index → Y [r, c, pooled_shape…]",
             {operand({1, 1, 6, 6}), operand({1, 5}, {0, 0, 0, 3, 3})}, {{"pooled_shape", Integers{2, 2}}})
        .formula = "Y = max X in each bin of each region";
    describe(table, "RoiAlign",
             "X [n, c, h, w] · rois [r, 4] · batch_indices [r] → Y [r, c, output_height, output_width]",
             {operand({1, 1, 6, 6}), operand({1, 4}, {0, 0, 3, 3}), operand({1}, {0}, DType::i64)},
             {{"output_height", std::int64_t{2}}, {"output_width", std::int64_t{2}}})
        .formula = "Y = mean, or max, of X at the samples of each bin";
}

} // namespace twb
