#include "ops/dispatch.h"

#include "core/error.h"
#include "ops/cast.h"

#include <fmt/format.h>

#include <vector>

namespace twb {
namespace {

/// The views passed to an f32 kernel in place of `views`; `owned` keeps the copies alive.
std::vector<TensorView> asFloats(std::span<const TensorView> views, std::vector<Tensor>& owned) {
    std::vector<TensorView> out(views.begin(), views.end());
    for (TensorView& view : out) {
        if (!isHalfWidth(view.dtype)) continue;
        if (!view.data) {
            view.dtype = DType::f32;
            continue;
        }
        owned.push_back(Tensor::onHost({DType::f32, view.shape}));
        view = owned.back().view();
    }
    return out;
}

} // namespace

void noKernelFor(DType dtype) {
    throw Error(ErrorCode::unsupported, fmt::format("no kernel for {}; cast to f32", name(dtype)));
}

void throughFloat(const KernelContext& ctx, HostKernel kernel) {
    std::vector<Tensor> owned;
    const std::vector<TensorView> inputs = asFloats(ctx.inputs, owned);
    const std::vector<TensorView> outputs = asFloats(ctx.outputs, owned);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const TensorView& from = ctx.inputs[i];
        if (isHalfWidth(from.dtype) && from.data) convertElements(from, inputs[i]);
    }
    kernel({inputs, outputs, ctx.attributes, ctx.files, nullptr, ctx.iteration});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const TensorView& to = ctx.outputs[i];
        if (isHalfWidth(to.dtype) && to.data) convertElements(outputs[i], to);
    }
}

} // namespace twb
