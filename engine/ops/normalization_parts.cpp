#include "ops/normalization_parts.h"

#include "backends/cpu/dense_input.h"
#include "ops/dispatch.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace twb {

Op makeNormalization(std::string name, int opset, std::string doc, std::string formula, double flops) {
    Op op = makeOp(std::move(name), "Normalization", opset, std::move(doc), std::move(formula));
    op.tolerance = {1e-5, 1e-5};
    op.cost = [flops](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                      const Attributes&) { return streamingCost(inputs, outputs, flops); };
    return op;
}

AttributeSpec epsilonAttribute() {
    return numberAttribute("epsilon", 1e-5, "Added to the variance to avoid a division by 0");
}

void requireChannels(const InferContext& ctx, int port, std::int64_t channels) {
    const Shape& shape = ctx.input(port)->shape;
    if (shape.rank() == 1 && (shape[0] == channels || shape[0] == kUnknownDim || channels == kUnknownDim))
        return;
    ctx.fail("shape-mismatch", port,
             fmt::format("{} should contain {} elements not {}", ctx.op().inputAt(port).argument, channels,
                         shape.toTorchString()));
}

std::vector<double> numbersOf(const TensorView& given) {
    const DenseInput in(given);
    std::vector<double> values(static_cast<std::size_t>(in.view().elementCount()));
    withAny(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(widened(in.as<T>()[i]));
    });
    return values;
}

GraphTensor perChannel(GraphTensor channels, DType dtype, int rank) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(std::max(rank - 1, 1)), 1);
    sizes.front() = channels.shape()[0];
    return cast(reshape(channels, Shape(std::move(sizes))), dtype);
}

void givePerChannel(GradientContext& g, int port, GraphTensor gradient) {
    if (!g.isWanted(port)) return;
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < gradient.shape().rank(); ++axis)
        if (axis != 1) axes.push_back(axis);
    const GraphTensor sum = reshape(sumOver(gradient, axes), g.input(port).shape());
    g.give(port, cast(sum, g.input(port).type().dtype));
}

std::vector<std::int64_t> axesBeside(int channels, int rank, int first) {
    std::vector<std::int64_t> axes;
    for (int axis = first; axis < rank; ++axis)
        if (axis != channels) axes.push_back(axis);
    return axes;
}

} // namespace twb
