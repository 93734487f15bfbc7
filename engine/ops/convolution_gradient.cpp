#include "ops/convolution_gradient.h"

#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/sliding_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace twb {
namespace {

bool known(std::int64_t size) { return size != kUnknownDim; }

/// The window of a convolution as attributes of Conv, with pads instead of auto_pad, and the output_padding
/// with which ConvTranspose reaches the sizes of the image.
struct Sliding {
    Sliding(const Window& window, std::int64_t groups) : groups(groups) {
        for (const WindowAxis& axis : window.axes) {
            const std::int64_t reach = axis.reach() + (axis.out - 1) * axis.stride;
            const std::int64_t after = std::max<std::int64_t>(reach - axis.in - axis.padBegin, 0);
            kernel.push_back(axis.kernel);
            strides.push_back(axis.stride);
            dilations.push_back(axis.dilation);
            pads.push_back(axis.padBegin);
            behind.push_back(after);
            beyond.push_back(axis.in + axis.padBegin + after - reach);
        }
        pads.insert(pads.end(), behind.begin(), behind.end());
    }
    Attributes attributes() const {
        return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
    }

    GraphTensor convolve(GraphTensor image, GraphTensor weight) const {
        return apply("Conv", {image, weight}, attributes());
    }
    /// The gradient of the image.
    GraphTensor spread(GraphTensor result, GraphTensor weight) const {
        Attributes all = attributes();
        all.set("output_padding", beyond);
        return apply("ConvTranspose", {result, weight}, all);
    }
    /// The gradient of the weight.
    GraphTensor correlate(GraphTensor result, GraphTensor image) const {
        Attributes all = attributes();
        all.set("kernel_shape", kernel);
        return apply("ConvWeightGrad", {result, image}, all);
    }

private:
    std::int64_t groups;
    std::vector<std::int64_t> kernel, strides, dilations, pads, behind, beyond;
};

std::int64_t groupsOf(const Attributes& attributes) { return attributes.integer("group"); }

void giveBias(GradientContext& g) {
    if (!g.isWanted(2)) return;
    std::vector<std::int64_t> axes{0};
    for (int axis = 2; axis < g.gradient().shape().rank(); ++axis) axes.push_back(axis);
    g.give(2, reshape(sumOver(g.gradient(), axes), g.input(2).shape()));
}

void inferConvWeightGrad(InferContext& ctx) {
    requireSpatial(ctx, 1);
    const Shape& dy = ctx.input(0)->shape;
    const Shape& x = ctx.input(1)->shape;
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : slidingWindow(ctx.attributes(), x).axes) sizes.push_back(axis.out);
    const std::int64_t channels = dy.rank() > 1 ? dy[1] : kUnknownDim;
    const Shape expected = planesShape(x[0], channels, sizes);
    bool isSame = dy.rank() == x.rank();
    for (int axis = 0; isSame && axis < dy.rank(); ++axis)
        isSame = dy[axis] == expected[axis] || !known(dy[axis]) || !known(expected[axis]);
    if (!isSame)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("the gradient of a convolution's result must have its shape {}, but has shape {}",
                        expected.toTorchString(), dy.toTorchString()));
    const std::int64_t groups = groupsOf(ctx.attributes());
    for (const auto& [port, count] : {std::pair(0, channels), std::pair(1, x[1])})
        if (known(count) && count % groups != 0)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} has {} channels, which {} groups cannot share equally",
                                 ctx.op().inputAt(port).name, count, groups));
    ctx.output(0, {ctx.input(1)->dtype, planesShape(channels, known(x[1]) ? x[1] / groups : kUnknownDim,
                                                    ctx.attributes().integers("kernel_shape"))});
}

void convWeightGradFloats(const KernelContext& ctx) {
    const TensorView& dw = ctx.outputs[0];
    const Shape& image = ctx.inputs[1].shape;
    const std::int64_t groups = groupsOf(ctx.attributes);
    const Convolution sizes{.window = slidingWindow(ctx.attributes, image),
                            .batch = image[0],
                            .groups = groups,
                            .inChannels = dw.shape[1],
                            .outChannels = dw.shape[0] / groups};
    const DenseInput dy(ctx.inputs[0]);
    const DenseInput x(ctx.inputs[1]);
    withFloat(dw.dtype, [&](auto zero) {
        using T = decltype(zero);
        convolutionWeights(sizes, x.as<T>(), dy.as<T>(), dw.as<T>());
    });
}

void convWeightGradKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() > 0) viaFloat<convWeightGradFloats>(ctx);
}

} // namespace

void convGradient(GradientContext& g) {
    const Sliding sliding(slidingWindow(g.attributes(), g.input(0).shape(), spatialSizes(g.input(1).shape())),
                          groupsOf(g.attributes()));
    if (g.isWanted(0)) g.give(0, sliding.spread(g.gradient(), g.input(1)));
    if (g.isWanted(1)) g.give(1, sliding.correlate(g.gradient(), g.input(0)));
    giveBias(g);
}

void convTransposeGradient(GradientContext& g) {
    const Sliding sliding(
        transposedWindow(g.attributes(), g.input(0).shape(), spatialSizes(g.input(1).shape())),
        groupsOf(g.attributes()));
    if (g.isWanted(0)) g.give(0, sliding.convolve(g.gradient(), g.input(1)));
    if (g.isWanted(1)) g.give(1, sliding.correlate(g.input(0), g.gradient()));
    giveBias(g);
}

Op convWeightGrad() {
    Op op = makeOp("ConvWeightGrad", "Training", 0, "The gradient of the weight of a convolution",
                   "dW = Σ dY · windows of X");
    op.inputs = {port("dY", "grad_out", kFloats, "T"), port("X", "input", kFloats, "T")};
    op.outputs = {port("dW", "", kFloats, "T")};
    op.attributes = {kernelAttribute(true, "Sizes of the kernel")};
    for (AttributeSpec& spec : slidingAttributes()) op.attributes.push_back(std::move(spec));
    op.attributes.push_back(groupAttribute());
    op.tolerance = {1e-5, 1e-5};
    op.infer = inferConvWeightGrad;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = 2 * countOf(inputs[0].shape);
        for (int axis = 1; axis < outputs[0].shape.rank(); ++axis)
            cost.flops *= static_cast<double>(outputs[0].shape[axis]);
        return cost;
    };
    op.kernel = convWeightGradKernel;
    op.gradient = [](GradientContext& g) {
        const Sliding sliding(slidingWindow(g.attributes(), g.input(1).shape()), groupsOf(g.attributes()));
        if (g.isWanted(0)) g.give(0, sliding.convolve(g.input(1), g.gradient()));
        if (g.isWanted(1)) g.give(1, sliding.spread(g.input(0), g.gradient()));
    };
    return op;
}

} // namespace twb
