#pragma once

#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"

namespace twb {

// The kernels of makeUnary's ops by dtype: apply F (ops/element_functions.h) to each element.

template <class F> void unaryFloatKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], F{});
    });
}

template <class F> void unaryNumberKernel(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], F{});
    });
}

} // namespace twb
