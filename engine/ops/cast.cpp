#include "ops/cast.h"

#include "backends/cpu/elementwise.h"
#include "backends/cpu/quantize_loops.h"
#include "backends/cpu/vector_math.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

#include <fmt/format.h>

namespace twb {
namespace {

void inferCast(InferContext& ctx) { ctx.output(0, {dtypeOf(ctx.attributes(), "to"), ctx.input(0)->shape}); }

void inferCastLike(InferContext& ctx) { ctx.output(0, {ctx.input(1)->dtype, ctx.input(0)->shape}); }

void castKernel(const KernelContext& ctx) { convertElements(ctx.inputs[0], ctx.outputs[0]); }

void inferBitCast(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const DType to = dtypeOf(ctx.attributes(), "to");
    if (sizeOf(to) != sizeOf(x.dtype))
        ctx.fail("attribute", -1,
                 fmt::format("BitCast keeps the bits of each element, but an element of {} has {} bits and "
                             "one of {} has {}; choose a dtype of the same size",
                             name(x.dtype), 8 * sizeOf(x.dtype), name(to), 8 * sizeOf(to)));
    ctx.output(0, {to, x.shape});
}

void bitCastKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.dtype == DType::boolean) return castKernel(ctx); // a bool is 0 or 1, whatever the byte is
    TensorView bits = ctx.inputs[0];
    bits.dtype = out.dtype;
    copyElements(bits, out);
}

/// The elements of the target tensor are not read.
Cost castLikeCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) {
    return streamingCost(inputs.first(1), outputs, 1);
}

} // namespace

void convertElements(const TensorView& in, const TensorView& out) {
    if (in.dtype == out.dtype) return copyElements(in, out);
    const bool toHalf = in.dtype == DType::f32 && out.dtype == DType::f16;
    const bool fromHalf = in.dtype == DType::f16 && out.dtype == DType::f32;
    if ((toHalf || fromHalf) && isDense(in)) {
        const std::int64_t total = out.elementCount();
        return parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            if (toHalf)
                vectorToHalf(in.as<const float>() + begin, out.as<Half>() + begin, end - begin);
            else
                vectorFromHalf(in.as<const Half>() + begin, out.as<float>() + begin, end - begin);
        });
    }
    const bool toBFloat16 = in.dtype == DType::f32 && out.dtype == DType::bf16;
    const bool fromBFloat16 = in.dtype == DType::bf16 && out.dtype == DType::f32;
    if ((toBFloat16 || fromBFloat16) && isDense(in)) {
        const std::int64_t total = out.elementCount();
        return parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            if (toBFloat16)
                vectorToBFloat16(in.as<const float>() + begin, out.as<BFloat16>() + begin, end - begin);
            else
                vectorFromBFloat16(in.as<const BFloat16>() + begin, out.as<float>() + begin, end - begin);
        });
    }
    withAny(in.dtype, [&](auto from) {
        withAny(out.dtype, [&](auto to) {
            using To = decltype(to);
            using From = decltype(from);
            mapElements<From, To>(in, out, [](From x) { return element::cast<To>(x); });
        });
    });
}

TensorView denseAs(DType dtype, const TensorView& in, Tensor& owner) {
    if (in.dtype == dtype && isDense(in)) return in;
    owner = Tensor::onHost({dtype, in.shape});
    convertElements(in, owner.view());
    return owner.view();
}

void addCast(std::vector<Op>& table) {
    Op cast = makeOp("Cast", "Shape", 28, "The same elements in another dtype", "Y = (to) X");
    cast.inputs = {port("input", "self", kAll)};
    cast.outputs = {port("output", "", kAll)};
    const AttributeSpec saturate = flagAttribute("saturate", true, "For 8-bit floats in ONNX; not used here");
    cast.attributes = {dtypeAttribute("to", "f32", kAll, "Type to convert to"), saturate};
    cast.infer = inferCast;
    cast.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    cast.kernel = castKernel;
    table.push_back(std::move(cast));

    Op like = makeOp("CastLike", "Shape", 25, "The same elements in another tensor's dtype",
                     "Y = (dtype of target) X");
    like.inputs = {port("input", "self", kAll), port("target_type", "other", kAll)};
    like.outputs = {port("output", "", kAll)};
    like.attributes = {saturate};
    like.infer = inferCastLike;
    like.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    like.cost = castLikeCost;
    like.kernel = castKernel;
    table.push_back(std::move(like));

    Op bits = makeOp("BitCast", "Shape", 26, "The same bits, read as another dtype of the same size");
    bits.inputs = {port("input", "self", kAll)};
    bits.outputs = {port("output", "", kAll)};
    bits.attributes = {dtypeAttribute("to", "i32", kAll, "Type of the same size")};
    bits.infer = inferBitCast;
    bits.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) { return streamingCost(inputs, outputs, 0); };
    bits.noGradient = "reads the bits of its input as another dtype";
    bits.kernel = bitCastKernel;
    table.push_back(std::move(bits));
}

} // namespace twb
