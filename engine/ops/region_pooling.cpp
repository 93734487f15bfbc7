#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace twb {
namespace {

// Regions of interest: rectangles of an image, in its elements, that are pooled to one size.

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
                 fmt::format("rois must have {} columns, a row for each region, but has size {}", columns,
                             rois.toTorchString()));
    return rois[0];
}

/// The regions, after a look at what only the run knows.
template <class T> const T* checkedRegions(const DenseInput& rois) {
    const std::int64_t count = rois.view().elementCount();
    for (std::int64_t i = 0; i < count; ++i)
        if (!(std::abs(rois.as<T>()[i]) < T{1e15}))
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("rois has the coordinate {} at {}; give coordinates in the image's elements",
                            rois.as<T>()[i], i));
    return rois.as<T>();
}

std::int64_t imageOf(std::int64_t index, std::int64_t batch) {
    if (index < 0 || index >= batch)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("a region lies in image {}, but the batch has {} images", index, batch));
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

/// Samples along one side of a region's bin, `count` of them for the mean's sake; those outside the image,
/// which count as 0, are left out.
struct Samples {
    double first, step;
    std::int64_t begin, end, count;

    Samples(double start, double length, std::int64_t ratio, std::int64_t size) {
        count = std::max<std::int64_t>(ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(length)), 0);
        step = length / static_cast<double>(std::max<std::int64_t>(count, 1));
        first = start + step / 2;
        // One more at either end than rounding could ask for; at() settles what lies outside.
        const double low = step > 0 ? (-1 - first) / step - 1 : 0;
        const double high =
            step > 0 ? (static_cast<double>(size) - first) / step + 2 : static_cast<double>(count);
        begin = static_cast<std::int64_t>(std::clamp(low, 0.0, static_cast<double>(count)));
        end = static_cast<std::int64_t>(std::clamp(high, 0.0, static_cast<double>(count)));
    }
    double at(std::int64_t i) const { return first + static_cast<double>(i) * step; }
};

/// The two elements that a coordinate lies between, and how much of each.
struct Between {
    std::int64_t low = 0, high = 0;
    double ofLow = 0, ofHigh = 0;
    bool inside = false;

    Between(double x, std::int64_t size) {
        if (x < -1 || x > static_cast<double>(size) || size == 0) return;
        inside = true;
        x = std::max(x, 0.0);
        low = std::min(static_cast<std::int64_t>(x), size - 1);
        high = std::min(low + 1, size - 1);
        ofHigh = high == low ? 0 : x - static_cast<double>(low);
        ofLow = 1 - ofHigh;
    }
};

template <class T> void roiAlign(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseInput x(ctx.inputs[0]);
    const DenseInput rois(ctx.inputs[1]);
    const DenseInput indices(ctx.inputs[2]);
    const T* const regions = checkedRegions<T>(rois);
    for (std::int64_t r = 0; r < out.shape[0]; ++r) imageOf(indices.as<std::int64_t>()[r], x.shape()[0]);
    const std::int64_t channels = x.shape()[1];
    const std::int64_t height = x.shape()[2];
    const std::int64_t width = x.shape()[3];
    const bool halfPixel = ctx.attributes.text("coordinate_transformation_mode") == "half_pixel";
    const bool takesMax = ctx.attributes.text("mode") == "max";
    const double scale = ctx.attributes.number("spatial_scale");
    const std::int64_t ratio = ctx.attributes.integer("sampling_ratio");
    const double shift = halfPixel ? 0.5 : 0;
    T* const y = out.as<T>();
    const std::int64_t rows = out.shape[2];
    const std::int64_t columns = out.shape[3];
    parallelRanges(
        out.shape[0] * channels, out.elementCount() * 32, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t plane = begin; plane < end; ++plane) {
                const std::int64_t r = plane / channels;
                const T* const roi = regions + r * 4;
                const T* const image =
                    x.as<T>() +
                    (indices.as<std::int64_t>()[r] * channels + plane % channels) * height * width;
                const double left = roi[0] * scale - shift;
                const double top = roi[1] * scale - shift;
                double across = roi[2] * scale - shift - left;
                double down = roi[3] * scale - shift - top;
                if (!halfPixel) {
                    across = std::max(across, 1.0);
                    down = std::max(down, 1.0);
                }
                const double binWidth = across / static_cast<double>(columns);
                const double binHeight = down / static_cast<double>(rows);
                for (std::int64_t i = 0; i < rows; ++i) {
                    const Samples ys(top + static_cast<double>(i) * binHeight, binHeight, ratio, height);
                    for (std::int64_t j = 0; j < columns; ++j) {
                        const Samples xs(left + static_cast<double>(j) * binWidth, binWidth, ratio, width);
                        double sum = 0;
                        double most = -std::numeric_limits<double>::infinity();
                        for (std::int64_t a = ys.begin; a < ys.end; ++a) {
                            const Between v(ys.at(a), height);
                            if (!v.inside) continue;
                            for (std::int64_t b = xs.begin; b < xs.end; ++b) {
                                const Between h(xs.at(b), width);
                                if (!h.inside) continue;
                                const T* const upper = image + v.low * width;
                                const T* const lower = image + v.high * width;
                                const double parts[] = {
                                    v.ofLow * h.ofLow * upper[h.low], v.ofLow * h.ofHigh * upper[h.high],
                                    v.ofHigh * h.ofLow * lower[h.low], v.ofHigh * h.ofHigh * lower[h.high]};
                                sum += parts[0] + parts[1] + parts[2] + parts[3];
                                // As ONNX defines it: the largest weighted corner, not the largest sample.
                                for (double part : parts) most = std::max(most, part);
                            }
                        }
                        const double samples =
                            std::max(static_cast<double>(ys.count) * static_cast<double>(xs.count), 1.0);
                        const bool misses =
                            (ys.end - ys.begin) * (xs.end - xs.begin) < ys.count * xs.count || most < -1e300;
                        if (misses && takesMax) most = std::max(most, 0.0);
                        y[(plane * rows + i) * columns + j] = static_cast<T>(takesMax ? most : sum / samples);
                    }
                }
            }
        });
}

void roiAlignKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { roiAlign<decltype(zero)>(ctx); });
}

std::vector<std::int64_t> pooledSizes(const Attributes& attributes) {
    const std::vector<std::int64_t> sizes = attributes.integers("pooled_shape");
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

/// The elements of a side of an image that a bin covers.
struct Bin {
    std::int64_t begin, end;
    Bin(std::int64_t index, std::int64_t bins, double start, double last, std::int64_t size) {
        const double length = std::max(last - start + 1, 1.0) / static_cast<double>(bins);
        const auto edge = [&](double x) {
            return static_cast<std::int64_t>(std::clamp(x + start, 0.0, static_cast<double>(size)));
        };
        begin = edge(std::floor(static_cast<double>(index) * length));
        end = edge(std::ceil(static_cast<double>(index + 1) * length));
    }
};

template <class T> void maxRoiPool(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseInput x(ctx.inputs[0]);
    const DenseInput rois(ctx.inputs[1]);
    const T* const regions = checkedRegions<T>(rois);
    for (std::int64_t r = 0; r < out.shape[0]; ++r)
        imageOf(static_cast<std::int64_t>(regions[r * 5]), x.shape()[0]);
    const double scale = ctx.attributes.number("spatial_scale");
    const std::int64_t channels = x.shape()[1];
    const std::int64_t height = x.shape()[2];
    const std::int64_t width = x.shape()[3];
    T* const y = out.as<T>();
    const std::int64_t rows = out.shape[2];
    const std::int64_t columns = out.shape[3];
    parallelRanges(
        out.shape[0] * channels, out.elementCount() * 32, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t plane = begin; plane < end; ++plane) {
                const T* const roi = regions + plane / channels * 5;
                const auto corner = [&](int i) { return std::round(static_cast<double>(roi[i]) * scale); };
                const T* const image =
                    x.as<T>() +
                    (static_cast<std::int64_t>(roi[0]) * channels + plane % channels) * height * width;
                for (std::int64_t i = 0; i < rows; ++i) {
                    const Bin v(i, rows, corner(2), corner(4), height);
                    for (std::int64_t j = 0; j < columns; ++j) {
                        const Bin h(j, columns, corner(1), corner(3), width);
                        const bool isEmpty = v.end <= v.begin || h.end <= h.begin;
                        T most = isEmpty ? T{0} : -std::numeric_limits<T>::infinity();
                        for (std::int64_t a = v.begin; a < v.end; ++a)
                            for (std::int64_t b = h.begin; b < h.end; ++b)
                                most = std::max(most, image[a * width + b]);
                        y[(plane * rows + i) * columns + j] = most;
                    }
                }
            }
        });
}

void maxRoiPoolKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { maxRoiPool<decltype(zero)>(ctx); });
}

AttributeSpec sizeAttribute(std::string name, std::int64_t value, std::int64_t minimum, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), value, std::move(doc));
    spec.minimum = static_cast<double>(minimum);
    spec.maximum = 65536;
    return spec;
}

} // namespace

void addRegionPooling(std::vector<Op>& table) {
    Op maxPool = makeOp("MaxRoiPool", "Pooling", 22, "The largest elements of regions, pooled to one size");
    maxPool.inputs = {port("X", "input", kFloats, "T"), port("rois", "boxes", kFloats, "T")};
    maxPool.outputs = {port("Y", "", kFloats, "T")};
    AttributeSpec pooled = shapeAttribute("pooled_shape", std::nullopt, 1, "Height and width of the results");
    pooled.required = true;
    pooled.maximum = 65536;
    maxPool.attributes = {std::move(pooled),
                          numberAttribute("spatial_scale", 1, "The image's elements per unit of rois")};
    maxPool.infer = inferMaxRoiPool;
    maxPool.kernel = viaFloat<maxRoiPoolKernel>;
    table.push_back(std::move(maxPool));

    Op align = makeOp("RoiAlign", "Pooling", 22,
                      "Regions of images sampled between their elements, as torchvision's roi_align");
    align.inputs = {port("X", "input", kFloats, "T1"), port("rois", "boxes", kFloats, "T1"),
                    port("batch_indices", "", DTypeSet{DType::i64})};
    align.outputs = {port("Y", "", kFloats, "T1")};
    align.attributes = {
        choiceAttribute("coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"},
                        "half_pixel: an element's centre is at a half; output_half_pixel: as of old"),
        choiceAttribute("mode", "avg", {"avg", "max"}, "What is kept of a bin's samples"),
        sizeAttribute("output_height", 1, 1, "Height of the results"),
        sizeAttribute("output_width", 1, 1, "Width of the results"),
        sizeAttribute("sampling_ratio", 0, 0, "Samples along each side of a bin; 0: one an element"),
        numberAttribute("spatial_scale", 1, "The image's elements per unit of rois")};
    align.tolerance = {1e-5, 1e-5};
    align.infer = inferRoiAlign;
    align.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                    const Attributes&) { return streamingCost(inputs, outputs, 32); };
    align.kernel = viaFloat<roiAlignKernel>;
    table.push_back(std::move(align));
}

} // namespace twb
