#include "backends/cpu/dense_input.h"
#include "backends/cpu/gemm.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/image_between.h"
#include "ops/sampled.h"
#include "ops/schema.h"
#include "ops/sliding_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace twb {
namespace {

// Ops that unfold windows into columns or fold columns back: Col2Im, DeformConv.

bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

Window blocksOf(const Attributes& attributes, const std::vector<std::int64_t>& image,
                const std::vector<std::int64_t>& block) {
    return slidingWindow(attributes, planesShape(1, 1, image), block);
}

void inferCol2Im(InferContext& ctx) {
    const TensorType& in = *ctx.input(0);
    if (in.shape.rank() != 3)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format(
                "Expected an input of shape (batch, channels × block, positions), but got input of size {}",
                in.shape.toTorchString()));
    for (int port : {1, 2})
        if (!ctx.input(port) && !ctx.integers(port))
            ctx.fail("attribute", -1,
                     fmt::format("Col2Im needs {}: connect it, or set the attribute",
                                 ctx.op().inputAt(port).name));
    const auto image = ctx.integers(1);
    const auto block = ctx.integers(2);
    const std::size_t rank = image ? image->size() : static_cast<std::size_t>(hostLength(ctx, 1));
    if (rank == 0) ctx.fail("shape-mismatch", 1, "image_shape must have an entry for each spatial axis");
    for (const auto* list : {&image, &block})
        if (*list)
            for (std::int64_t size : **list)
                if (size < 1 || size > kMaxWindowSize)
                    ctx.fail(
                        "shape-mismatch", list == &image ? 1 : 2,
                        fmt::format("sizes of the image and the block must be from 1 to {}, but one is {}",
                                    kMaxWindowSize, size));
    std::int64_t channels = kUnknownDim;
    if (block) {
        std::int64_t taps = 1;
        for (std::int64_t size : *block)
            if (__builtin_mul_overflow(taps, size, &taps))
                ctx.fail("too-large", 2, "the block has more elements than 64 bits can count");
        if (in.shape[1] != kUnknownDim) {
            if (in.shape[1] % taps != 0)
                ctx.fail("shape-mismatch", 0,
                         fmt::format("Expected size of input's dimension 1 to be divisible by the product of "
                                     "kernel_size, but got input.size(1)={} and a block of {} elements",
                                     in.shape[1], taps));
            channels = in.shape[1] / taps;
        }
    }
    if (image && block) {
        const std::int64_t positions = blocksOf(ctx.attributes(), *image, *block).outCount();
        if (!meets(in.shape[2], positions))
            ctx.fail(
                "shape-mismatch", 0,
                fmt::format("expected size of input's dimension 2 to match the calculated number of sliding "
                            "blocks {}, but got input.size(2)={}",
                            positions, in.shape[2]));
    }
    ctx.output(0, {in.dtype, planesShape(in.shape[0], channels,
                                         image ? *image : std::vector<std::int64_t>(rank, kUnknownDim))});
}

/// A host value at a launch: the connected list or the attribute.
std::vector<std::int64_t> listOf(const KernelContext& ctx, std::size_t port, const char* name) {
    const DenseInput in = denseInput(ctx.inputs, port);
    if (!in) return ctx.attributes.integers(name);
    return {in.as<std::int64_t>(), in.as<std::int64_t>() + in.view().elementCount()};
}

void col2ImKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const Window window =
        blocksOf(ctx.attributes, listOf(ctx, 1, "image_shape"), listOf(ctx, 2, "block_shape"));
    const DenseInput columns(ctx.inputs[0]);
    withNumber(out.dtype, [&](auto zero) {
        using Element = decltype(zero);
        // Integers wrap around, which C++ defines for unsigned types only.
        using T = typename std::conditional_t<std::is_integral_v<Element>, std::make_unsigned<Element>,
                                              std::type_identity<Element>>::type;
        std::fill_n(out.as<T>(), out.elementCount(), T{0});
        foldOnto(window, out.shape[0] * out.shape[1], columns.as<T>(), out.as<T>());
    });
}

/// Col2Im sums windows into an image, so its gradient reads the same windows from the image's gradient: one
/// axis after the other, with the elements of a window and its positions as axes of their own.
void col2ImGradient(GradientContext& g) {
    const Window window = blocksOf(g.attributes(), *g.integers(1), *g.integers(2));
    const Shape& in = g.input().shape();
    const std::size_t spatial = window.axes.size();
    std::vector<std::int64_t> pads(2 * (spatial + 2), 0);
    for (std::size_t a = 0; a < spatial; ++a) {
        const WindowAxis& axis = window.axes[a];
        const std::int64_t end = axis.start(axis.out - 1) + axis.reach();
        pads[2 + a] = axis.padBegin;
        pads[2 + a + spatial + 2] = std::max<std::int64_t>(end - axis.in, 0);
    }
    GraphTensor columns = apply("Pad", {g.gradient()}, {{"pads", pads}});
    std::vector<std::int64_t> order{0, 1};
    for (int a = 0; a < static_cast<int>(spatial); ++a) {
        const WindowAxis& axis = window.axes[static_cast<std::size_t>(a)];
        const GraphTensor at =
            progression(g, DType::i64, axis.kernel, 0, static_cast<double>(axis.dilation), 1) +
            progression(g, DType::i64, axis.out, 0, static_cast<double>(axis.stride));
        columns = gather(columns, at, 2 + 2 * a);
        order.insert(order.begin() + 2 + a, 2 + 2 * a);
        order.push_back(3 + 2 * a);
    }
    g.give(0, reshape(transpose(columns, order), in));
}

void inferDeformConv(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const Shape& w = ctx.input(1)->shape;
    const Shape& offset = ctx.input(2)->shape;
    for (int port : {0, 1, 2})
        if (ctx.input(port)->shape.rank() != 4)
            ctx.fail("shape-mismatch", port,
                     fmt::format("DeformConv needs images with four axes, but {} has size {}",
                                 ctx.op().inputAt(port).name, ctx.input(port)->shape.toTorchString()));
    const std::int64_t groups = ctx.attributes().integer("group");
    const std::int64_t offsetGroups = ctx.attributes().integer("offset_group");
    if (w[0] != kUnknownDim && w[0] % groups != 0)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("{} output channels are not divisible into {} groups", w[0], groups));
    const std::int64_t channels = x.shape[1];
    if (channels != kUnknownDim &&
        (channels % groups != 0 || !meets(w[1], channels / groups) || channels % offsetGroups != 0))
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format(
                "Given groups={} and offset groups={}, weight of size {} does not fit an input of size {}",
                groups, offsetGroups, w.toTorchString(), x.shape.toTorchString()));
    if (ctx.attributes().has("kernel_shape")) {
        const auto given = ctx.attributes().integers("kernel_shape");
        if (given.size() != 2 || !meets(given[0], w[2]) || !meets(given[1], w[3]))
            ctx.fail("attribute", -1,
                     fmt::format("attribute \"kernel_shape\" is {}, but the weight has size {}",
                                 Shape(given).toTorchString(), w.toTorchString()));
    }
    const Window window = slidingWindow(ctx.attributes(), x.shape, spatialSizes(w));
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : window.axes) sizes.push_back(axis.out);
    const bool known = w[2] != kUnknownDim && w[3] != kUnknownDim;
    const auto require = [&](int port, std::int64_t each) {
        if (!ctx.input(port)) return;
        const Shape& shape = ctx.input(port)->shape;
        const double wanted =
            static_cast<double>(offsetGroups * each) * static_cast<double>(w[2]) * static_cast<double>(w[3]);
        const bool fits = shape.rank() == 4 && meets(shape[0], x.shape[0]) && meets(shape[2], sizes[0]) &&
                          meets(shape[3], sizes[1]) &&
                          (!known || shape[1] == kUnknownDim || static_cast<double>(shape[1]) == wanted);
        if (!fits)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have size [{}, {}, {}, {}], but has {}",
                                 ctx.op().inputAt(port).name, x.shape[0], known ? wanted : -1, sizes[0],
                                 sizes[1], shape.toTorchString()));
    };
    require(2, 2);
    require(4, 1);
    if (ctx.input(3) && (ctx.input(3)->shape.rank() != 1 || !meets(ctx.input(3)->shape[0], w[0])))
        ctx.fail(
            "shape-mismatch", 3,
            fmt::format("expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
                        w[0], ctx.input(3)->shape.toTorchString()));
    for (std::size_t a = 0; a < 2; ++a)
        if (sizes[a] == kUnknownDim) sizes[a] = offset[static_cast<int>(a) + 2];
    ctx.output(0, {x.dtype, planesShape(x.shape[0], w[0], sizes)});
}

template <class T> void deformConv(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const DenseInput x(ctx.inputs[0]);
    const DenseInput w(ctx.inputs[1]);
    const DenseInput offset(ctx.inputs[2]);
    const DenseInput bias = denseInput(ctx.inputs, 3);
    const DenseInput mask = denseInput(ctx.inputs, 4);
    const Window window = slidingWindow(ctx.attributes, x.shape(), spatialSizes(w.shape()));
    const WindowAxis& down = window.axes[0];
    const WindowAxis& across = window.axes[1];
    const std::int64_t groups = ctx.attributes.integer("group");
    const std::int64_t offsetGroups = ctx.attributes.integer("offset_group");
    const std::int64_t channels = x.shape()[1];
    const std::int64_t results = w.shape()[0];
    const std::int64_t taps = window.tapCount();
    const std::int64_t places = window.outCount();
    const std::int64_t plane = window.inCount();
    const Tensor room = Tensor::onHost({DTypeOf<T>::value, Shape{channels * taps, places}});
    T* const columns = static_cast<T*>(room.data());
    const std::int64_t depth = channels / groups * taps;
    for (std::int64_t n = 0; n < out.shape[0]; ++n) {
        parallelRanges(
            channels * taps, channels * taps * places * 16, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                    const std::int64_t c = row / taps;
                    const std::int64_t tap = row % taps;
                    const std::int64_t tapDown = tap / across.kernel * down.dilation;
                    const std::int64_t tapAcross = tap % across.kernel * across.dilation;
                    const std::int64_t group = c / (channels / offsetGroups);
                    const std::int64_t which = (n * offsetGroups + group) * taps + tap;
                    const T* const shiftDown = offset.as<T>() + which * 2 * places;
                    const T* const shiftAcross = shiftDown + places;
                    const T* const factor = mask ? mask.as<T>() + which * places : nullptr;
                    const T* const image = x.as<T>() + (n * channels + c) * plane;
                    for (std::int64_t p = 0; p < places; ++p) {
                        const auto top = static_cast<double>(down.start(p / across.out) + tapDown);
                        const auto left = static_cast<double>(across.start(p % across.out) + tapAcross);
                        const T value = imageBetween<T>(image, down.in, across.in, top + shiftDown[p],
                                                        left + shiftAcross[p]);
                        columns[row * places + p] = factor ? factor[p] * value : value;
                    }
                }
            });
        T* const y = out.as<T>() + n * results * places;
        for (std::int64_t m = 0; m < results; ++m)
            std::fill_n(y + m * places, places, bias ? bias.as<T>()[m] : T{0});
        const std::int64_t each = results / groups;
        if (depth == 0) continue;
        for (std::int64_t g = 0; g < groups; ++g)
            gemm<T>(each, places, depth, T{1}, {w.as<T>() + g * each * depth, depth, false},
                    {columns + g * depth * places, places, false}, T{1}, y + g * each * places, places);
    }
}

void deformConvKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { deformConv<decltype(zero)>(ctx); });
}

/// DeformConv by simpler ops: samples at the shifted positions, then a product with the weight.
std::vector<GraphTensor> deformConvOf(GradientContext& g) {
    const Shape& x = g.input(0).shape();
    const Shape& w = g.input(1).shape();
    const Window window = slidingWindow(g.attributes(), x, spatialSizes(w));
    const std::int64_t groups = g.attributes().integer("group");
    const std::int64_t offsetGroups = g.attributes().integer("offset_group");
    const std::int64_t images = x[0] * offsetGroups;
    const std::int64_t channels = x[1] / offsetGroups;
    const WindowAxis& down = window.axes[0];
    const WindowAxis& across = window.axes[1];
    const DType dtype = forPositions(g.input(2).type().dtype);
    const GraphTensor offset =
        reshape(cast(g.input(2), dtype), {images, down.kernel, across.kernel, 2, down.out, across.out});
    std::vector<AxisTaps> axes;
    for (const int a : {0, 1}) {
        const WindowAxis& axis = window.axes[static_cast<std::size_t>(a)];
        const GraphTensor at = progression(g, dtype, axis.kernel, static_cast<double>(axis.start(0)),
                                           static_cast<double>(axis.dilation), 1) +
                               progression(g, dtype, axis.out, 0, static_cast<double>(axis.stride));
        const GraphTensor base =
            reshape(at, a == 0 ? Shape{axis.kernel, 1, axis.out, 1} : Shape{axis.kernel, 1, axis.out});
        const GraphTensor shift =
            reshape(slice(offset, 3, a, a + 1), {images, down.kernel, across.kernel, down.out, across.out});
        axes.push_back(tapsAt(base + shift, axis.in, GridMode::linear, GridPadding::zeros, false));
    }
    GraphTensor columns =
        sumOver(weightedTaps(reshape(g.input(0), {images, channels, x[2], x[3]}), axes), {0, 1});
    columns = reshape(columns, {images, down.kernel, across.kernel, down.out, across.out, channels});
    if (g.input(4))
        columns =
            columns * reshape(g.input(4), {images, down.kernel, across.kernel, down.out, across.out, 1});
    const std::int64_t depth = x[1] / groups * window.tapCount();
    columns = reshape(transpose(columns, {0, 5, 1, 2, 3, 4}), {x[0], groups, depth, window.outCount()});
    GraphTensor y = reshape(apply("MatMul", {reshape(g.input(1), {groups, w[0] / groups, depth}), columns}),
                            {x[0], w[0], down.out, across.out});
    if (g.input(3)) y = y + reshape(g.input(3), {w[0], 1, 1});
    return {y};
}

AttributeSpec groupsAttribute(std::string name, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), 1, std::move(doc));
    spec.minimum = 1;
    spec.maximum = static_cast<double>(kMaxWindowSize);
    return spec;
}

} // namespace

void addFolding(std::vector<Op>& table) {
    std::vector<AttributeSpec> sliding = slidingAttributes();
    Op fold = makeOp("Col2Im", "Image", 18, "Sums overlapping windows into an image, as PyTorch's fold");
    fold.inputs = {port("input", "input", kNumbers, "T"), hostPort("image_shape"), hostPort("block_shape")};
    fold.inputs[1].argument = "output_size";
    fold.inputs[2].argument = "kernel_size";
    fold.outputs = {port("output", "", kNumbers, "T")};
    fold.attributes = {shapeAttribute("image_shape", std::nullopt, 1, "Spatial sizes of the image"),
                       shapeAttribute("block_shape", std::nullopt, 1, "Spatial sizes of a window"),
                       sliding[0], sliding[1], sliding[2]};
    fold.tolerance = {1e-5, 1e-5};
    fold.infer = inferCol2Im;
    fold.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = countOf(inputs[0].shape);
        return cost;
    };
    fold.kernel = viaFloat<col2ImKernel>;
    fold.gradient = col2ImGradient;
    table.push_back(std::move(fold));

    Op deform =
        makeOp("DeformConv", "Convolution", 22,
               "Convolution whose sampling positions are shifted by an input, as torchvision's deform_conv2d",
               "Y = W ∗ X(p + offset) · mask + B");
    deform.inputs = {port("X", "input", kFloats, "T"), port("W", "weight", kFloats, "T"),
                     port("offset", "offset", kFloats, "T"), optionalPort("B", "bias", kFloats, "T"),
                     optionalPort("mask", "mask", kFloats, "T")};
    deform.outputs = {port("Y", "", kFloats, "T")};
    deform.attributes = {kernelAttribute(false, "Sizes of the kernel; absent: the sizes of the weight"),
                         sliding[0],
                         sliding[1],
                         sliding[2],
                         groupsAttribute("group", "Number of groups of channels"),
                         groupsAttribute("offset_group", "Groups of channels that share their offsets")};
    deform.tolerance = {1e-4, 1e-5};
    deform.infer = inferDeformConv;
    deform.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        const Shape& w = inputs[1].shape;
        cost.flops = countOf(outputs[0].shape) * 2 * static_cast<double>(w[1]) * static_cast<double>(w[2]) *
                     static_cast<double>(w[3]);
        return cost;
    };
    deform.kernel = viaFloat<deformConvKernel>;
    deform.gradient = [](GradientContext& g) { differentiate(g, deformConvOf); };
    table.push_back(std::move(deform));

    describe(table, "DeformConv",
             "X [n, c, h, w] · W [m, c / group, kh, kw] · offset [n, offset_group · 2 · kh · kw, eh, ew] → Y "
             "[n, m, eh, ew]",
             {operand({1, 1, 4, 4}), operand({1, 1, 2, 2}), operand({1, 8, 3, 3})});
    describe(table, "Col2Im", "input [n, c · Π block_shape, blocks] → output [n, c, image_shape…]",
             {operand({1, 4, 4})},
             {{"image_shape", Integers{4, 4}}, {"block_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}})
        .formula = "output = Σ of the blocks that cover an element";
}

} // namespace twb
