#include "ops/channel_shuffle.h"

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <algorithm>

namespace twb {
namespace {

/// Two channels-last f32 tensors: each pixel of the result takes turns.
bool interleavePairs(const KernelContext& ctx, std::int64_t first) {
    const TensorView& out = ctx.outputs[0];
    if (ctx.inputs.size() != 2 || out.dtype != DType::f32 || !isChannelsLast(out) ||
        !std::ranges::all_of(ctx.inputs, [](const TensorView& in) { return isChannelsLast(in); }))
        return false;
    const std::int64_t pairs = out.shape[1] / 2;
    const std::int64_t given = ctx.inputs[0].shape[1];
    const std::int64_t pixels = out.elementCount() / out.shape[1];
    parallelRanges(pixels, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t pixel = begin; pixel < end; ++pixel) {
            const float* const even = ctx.inputs[0].as<const float>() + pixel * given + first;
            const float* const odd = ctx.inputs[1].as<const float>() + pixel * given + first;
            float* const to = out.as<float>() + pixel * 2 * pairs;
            for (std::int64_t i = 0; i < pairs; ++i) {
                to[2 * i] = even[i];
                to[2 * i + 1] = odd[i];
            }
        }
    });
    return true;
}

} // namespace

void channelShuffleKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const std::int64_t first = ctx.attributes.integer("first");
    if (out.elementCount() == 0 || interleavePairs(ctx, first)) return;
    const auto bytes = static_cast<std::int64_t>(sizeOf(out.dtype));
    const auto count = static_cast<std::int64_t>(ctx.inputs.size());
    TensorView every = out; // of the channels, those of one input
    every.strides[1] *= count;
    for (std::int64_t i = 0; i < count; ++i) {
        TensorView in = ctx.inputs[static_cast<std::size_t>(i)];
        in.data = in.as<std::byte>() + first * in.strides[1] * bytes;
        in.shape[1] = every.shape[1] = out.shape[1] / count;
        every.data = out.as<std::byte>() + i * out.strides[1] * bytes;
        copyElements(in, every);
    }
}

} // namespace twb
