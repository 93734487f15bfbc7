#include "ops/cast.h"

#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferCast(InferContext& ctx) { ctx.output(0, {dtypeOf(ctx.attributes(), "to"), ctx.input(0)->shape}); }

void inferCastLike(InferContext& ctx) { ctx.output(0, {ctx.input(1)->dtype, ctx.input(0)->shape}); }

void castKernel(const KernelContext& ctx) { convertElements(ctx.inputs[0], ctx.outputs[0]); }

/// The elements of the target tensor are not read.
Cost castLikeCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) {
    return streamingCost(inputs.first(1), outputs, 1);
}

} // namespace

void convertElements(const TensorView& in, const TensorView& out) {
    if (in.dtype == out.dtype) return copyElements(in, out);
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
    Op cast = makeOp("Cast", "Shape", 23, "The same elements in another dtype", "Y = (to) X");
    cast.inputs = {port("input", "self", kAll)};
    cast.outputs = {port("output", "", kAll)};
    const AttributeSpec saturate = flagAttribute("saturate", true, "For 8-bit floats in ONNX; not used here");
    cast.attributes = {dtypeAttribute("to", "f32", kAll, "Type to convert to"), saturate};
    cast.infer = inferCast;
    cast.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    cast.kernel = castKernel;
    table.push_back(std::move(cast));

    Op like = makeOp("CastLike", "Shape", 23, "The same elements in another tensor's dtype",
                     "Y = (dtype of target) X");
    like.inputs = {port("input", "self", kAll), port("target_type", "other", kAll)};
    like.outputs = {port("output", "", kAll)};
    like.attributes = {saturate};
    like.infer = inferCastLike;
    like.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    like.cost = castLikeCost;
    like.kernel = castKernel;
    table.push_back(std::move(like));
}

} // namespace twb
