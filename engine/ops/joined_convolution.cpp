#include "ops/joined_convolution.h"

#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "backends/cpu/host_chain.h"
#include "backends/cpu/strided.h"
#include "ops/op_table.h"
#include "ops/sliding_window.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace twb {
namespace {

/// One of the convolutions.
struct JoinedPart {
    OpChain chain; ///< the convolution, and Relu if one follows
    StepMemory memory;
    std::unique_ptr<NativeConvolution> inPlace; ///< null if no kernel writes a part of the joined tensor
};

struct JoinedParts final : KernelState {
    std::vector<JoinedPart> all;
};

/// The numbers of convolution `part` in an attribute with `count` numbers each.
std::vector<std::int64_t> numbersOf(const KernelContext& ctx, const char* name, std::size_t part,
                                    std::size_t count) {
    const std::vector<std::int64_t> all = ctx.attributes.integers(name);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(part * count);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
}

OpChain joinedChain(const KernelContext& ctx, std::size_t part, bool hasBias) {
    const auto spatial = static_cast<std::size_t>(ctx.outputs[0].shape.rank() - 2);
    const Op& conv = *findOp("Conv");
    OpChain chain;
    chain.kind = OpChain::Kind::product;
    chain.inputs = hasBias ? 3 : 2;
    chain.members.push_back(
        {conv.name,
         completeAttributes(conv, {{"strides", numbersOf(ctx, "strides", part, spatial)},
                                   {"dilations", numbersOf(ctx, "dilations", part, spatial)},
                                   {"pads", numbersOf(ctx, "pads", part, 2 * spatial)},
                                   {"group", numbersOf(ctx, "group", part, 1)[0]}}),
         hasBias ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0, 1}, conv.kernel});
    if (ctx.attributes.flag("relu")) {
        const Op& relu = *findOp("Relu");
        chain.members.push_back({relu.name, completeAttributes(relu, {}), {chain.inputs}, relu.kernel});
    }
    return chain;
}

Convolution joinedSizes(const Attributes& attributes, const Shape& x, const Shape& w) {
    Convolution out;
    out.window = slidingWindow(attributes, x, spatialSizes(w));
    out.batch = x[0];
    out.groups = attributes.integer("group");
    out.inChannels = w[1];
    out.outChannels = w[0] / out.groups;
    return out;
}

JoinedPart makeJoinedPart(const KernelContext& ctx, std::size_t index, std::span<const TensorView> inputs,
                          const TensorView& y) {
    JoinedPart out{joinedChain(ctx, index, inputs.size() > 2), {}, nullptr};
    if (!ctx.memory) return out;
    out.memory.constants = ctx.memory->constants >> (3 * index) & 7;
    const bool isRowMajor = isDense(y) || isChannelsLast(y);
    if (isRowMajor || !out.memory.isConstant(1) || !isDense(inputs[1]) ||
        (inputs.size() > 2 && !isDense(inputs[2])))
        return out;
    ProductEnding ending;
    if (out.chain.members.size() > 1) ending.activation = ProductActivation::relu;
    out.inPlace = NativeConvolution::make(
        joinedSizes(out.chain.members[0].attributes, inputs[0].shape, inputs[1].shape),
        {inputs[0], inputs.size() > 2 ? inputs[2] : TensorView{}, {}, y, true}, ending);
    return out;
}

/// Computes the convolution in memory of its own, with the layout of the joined tensor, and copies it.
void copyJoinedPart(JoinedPart& part, std::span<const TensorView> inputs, const TensorView& y,
                    bool isChannelsLast, bool hasMemory) {
    const Tensor memory = Tensor::onHost({y.dtype, y.shape});
    TensorView result = memory.view();
    if (isChannelsLast) result.strides = channelsLastStrides(y.shape);
    runHostChain(part.chain, inputs, result, hasMemory ? &part.memory : nullptr);
    copyElements(result, y);
}

} // namespace

void joinedConvolutionKernel(const KernelContext& ctx) {
    const TensorView& joined = ctx.outputs[0];
    if (joined.elementCount() == 0) return;
    const bool isLast = !isDense(joined);
    JoinedParts ofThisLaunch;
    if (ctx.memory && !ctx.memory->state) ctx.memory->state = std::make_unique<JoinedParts>();
    JoinedParts& parts = ctx.memory ? static_cast<JoinedParts&>(*ctx.memory->state) : ofThisLaunch;
    TensorView y = joined;
    for (std::size_t index = 0; 3 * index < ctx.inputs.size(); ++index) {
        const auto inputs = ctx.inputs.subspan(3 * index, ctx.inputs[3 * index + 2].data ? 3 : 2);
        y.shape[1] = inputs[1].shape[0];
        if (parts.all.size() == index) parts.all.push_back(makeJoinedPart(ctx, index, inputs, y));
        JoinedPart& part = parts.all[index];
        const bool isDone =
            part.inPlace && part.inPlace->run({.x = inputs[0].data,
                                               .w = inputs[1].data,
                                               .bias = inputs.size() > 2 ? inputs[2].data : nullptr,
                                               .y = y.data});
        if (!isDone) copyJoinedPart(part, inputs, y, isLast, ctx.memory != nullptr);
        y.data = y.as<float>() + y.shape[1] * joined.strides[1];
    }
}

} // namespace twb
