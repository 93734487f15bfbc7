#include "backends/cpu/dense_input.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace twb {
namespace {

void inferLrn(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() < 3)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Expected 3D or higher dimensionality input (got {} dimensions)", x.shape.rank()));
    ctx.output(0, x);
}

void lrnLoops(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const std::int64_t channels = x.shape()[1];
    const std::int64_t planes = x.shape()[0] * channels;
    const std::int64_t planeSize = ctx.outputs[0].elementCount() / planes;
    const std::int64_t size = ctx.attributes.integer("size");
    const double alpha = ctx.attributes.number("alpha") / static_cast<double>(size);
    const double beta = ctx.attributes.number("beta");
    const double bias = ctx.attributes.number("bias");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        parallelRangesThrowing(
            planes, ctx.outputs[0].elementCount() * 32, 1, [&](std::int64_t begin, std::int64_t end) {
                std::vector<double> squares(static_cast<std::size_t>(planeSize));
                for (std::int64_t plane = begin; plane < end; ++plane) {
                    const std::int64_t c = plane % channels;
                    const T* const image = x.as<T>() + (plane - c) * planeSize;
                    std::fill(squares.begin(), squares.end(), 0.0);
                    const std::int64_t first = std::max<std::int64_t>(c - (size - 1) / 2, 0);
                    const std::int64_t last = std::min(c + size / 2, channels - 1);
                    for (std::int64_t k = first; k <= last; ++k)
                        for (std::int64_t i = 0; i < planeSize; ++i) {
                            const double v = image[k * planeSize + i];
                            squares[static_cast<std::size_t>(i)] += v * v;
                        }
                    T* const y = ctx.outputs[0].as<T>() + plane * planeSize;
                    for (std::int64_t i = 0; i < planeSize; ++i)
                        y[i] = static_cast<T>(
                            image[c * planeSize + i] /
                            std::pow(bias + alpha * squares[static_cast<std::size_t>(i)], beta));
                }
            });
    });
}

void lrnKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const DenseInput x(ctx.inputs[0]);
    const onednn::LocalResponse response{.size = ctx.attributes.integer("size"),
                                         .alpha = ctx.attributes.number("alpha"),
                                         .beta = ctx.attributes.number("beta"),
                                         .bias = ctx.attributes.number("bias")};
    if (!onednn::normalizeAcrossChannels(response, x.view(), ctx.outputs[0])) viaFloat<lrnLoops>(ctx);
}

/// With n = bias + alpha / size · Σ x² over the neighbours: y = x · n ^ −beta.
/// The neighbours are channels; the gradient sums over those of which a channel is a neighbour.
void lrnGradient(GradientContext& g) {
    const GraphTensor x = g.input();
    const Shape& shape = x.shape();
    const std::int64_t size = g.attributes().integer("size");
    const double alpha = g.attributes().number("alpha") / static_cast<double>(size);
    const double beta = g.attributes().number("beta");
    const std::int64_t plane = shape[0] * shape[1] == 0 ? 0 : shape.elementCount() / (shape[0] * shape[1]);
    const GraphTensor ones = full(g, {x.type().dtype, {1, 1, size, 1}}, 1);
    const auto neighbours = [&](GraphTensor values, std::int64_t before) {
        const GraphTensor rows = reshape(values, Shape{shape[0], 1, shape[1], plane});
        return reshape(apply("Conv", {rows, ones},
                             {{"pads", std::vector<std::int64_t>{before, 0, size - 1 - before, 0}}}),
                       shape);
    };
    const GraphTensor n = alpha * neighbours(x * x, (size - 1) / 2) + g.attributes().number("bias");
    const GraphTensor own = apply("Pow", {n, full(g, {x.type().dtype, {}}, -beta)});
    const GraphTensor others = neighbours(g.gradient() * g.output() / n, size / 2);
    g.give(0, g.gradient() * own - 2 * alpha * beta * (x * others));
}

} // namespace

void addLocalResponse(std::vector<Op>& table) {
    Op lrn = makeOp("LRN", "Normalization", 13,
                    "Normalises by the squares of neighbouring channels, as PyTorch's LocalResponseNorm",
                    "Y = X / (bias + alpha / size · Σ X²) ^ beta");
    lrn.tolerance = {1e-5, 1e-5};
    lrn.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) { return streamingCost(inputs, outputs, 30); };
    lrn.inputs = {port("X", "input", kFloats, "T")};
    lrn.outputs = {port("Y", "", kFloats, "T")};
    AttributeSpec size = integerAttribute("size", 5, "Number of channels in each sum");
    size.minimum = 1;
    size.maximum = 65536;
    lrn.attributes = {numberAttribute("alpha", 1e-4, "Factor of the squares"),
                      numberAttribute("beta", 0.75, "The exponent"),
                      numberAttribute("bias", 1, "Added to the squares"), std::move(size)};
    lrn.infer = inferLrn;
    lrn.kernel = lrnKernel;
    lrn.gradient = lrnGradient;
    table.push_back(std::move(lrn));

    describe(table, "LRN", "X [n, c, d…] → Y [n, c, d…]", {operand({1, 4, 3, 3})});
}

} // namespace twb
