#pragma once

#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/vector_forms.h"

#include <type_traits>

namespace twb {

// Kernels that apply a function of ops/element_functions.h and its neighbours to each element, by dtype.

template <class F> void mapFloats(const KernelContext& ctx, const F& f) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const TensorView& in = ctx.inputs[0];
        if constexpr (std::is_same_v<T, float> && element::Vectorised<F>)
            if (isDense(in)) {
                const VectorMap map = vectorForm(f);
                const std::int64_t total = ctx.outputs[0].elementCount();
                return parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
                    map(in.as<const float>() + begin, ctx.outputs[0].as<float>() + begin, end - begin);
                });
            }
        mapElements<T, T>(in, ctx.outputs[0], f);
    });
}

/// The kernel of an op without attributes for f32 and f64.
template <class F> void unaryFloatKernel(const KernelContext& ctx) { mapFloats(ctx, F{}); }

/// The kernel of an op without attributes for floats and integers.
template <class F> void unaryNumberKernel(const KernelContext& ctx) {
    if (isFloating(ctx.outputs[0].dtype)) return mapFloats(ctx, F{});
    withInteger(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], F{});
    });
}

} // namespace twb
