#pragma once

#include "backends/kernel.h"
#include "core/dtype.h"
#include "ops/element_functions.h"

#include <cstdint>

namespace twb {

/// Throws Error(unsupported).
[[noreturn]] void noKernelFor(DType dtype);

// Each calls f with a value of the C++ type of `dtype`, for a set of dtypes (ops/schema.h). Arithmetic on f16
// and bf16 is done in f32: kernels are written for f32 and f64, and viaFloat<kernel> handles the other two.

template <class F> void withFloat(DType dtype, const F& f) {
    switch (dtype) {
    case DType::f32:
        return f(float{});
    case DType::f64:
        return f(double{});
    default:
        noKernelFor(dtype);
    }
}

template <class F> void withInteger(DType dtype, const F& f) {
    switch (dtype) {
    case DType::i8:
        return f(std::int8_t{});
    case DType::i16:
        return f(std::int16_t{});
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    case DType::u8:
        return f(std::uint8_t{});
    case DType::u16:
        return f(std::uint16_t{});
    case DType::u32:
        return f(std::uint32_t{});
    case DType::u64:
        return f(std::uint64_t{});
    default:
        noKernelFor(dtype);
    }
}

/// kMatrixTypes.
template <class F> void withMatrixType(DType dtype, const F& f) {
    switch (dtype) {
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    case DType::u32:
        return f(std::uint32_t{});
    case DType::u64:
        return f(std::uint64_t{});
    default:
        return withFloat(dtype, f);
    }
}

template <class F> void withNumber(DType dtype, const F& f) {
    if (isInteger(dtype))
        withInteger(dtype, f);
    else
        withFloat(dtype, f);
}

/// Numbers and bool.
template <class F> void withNumberOrBool(DType dtype, const F& f) {
    if (dtype == DType::boolean)
        f(element::Bool{});
    else
        withNumber(dtype, f);
}

/// Floats, including f16 and bf16.
template <class F> void withStoredFloat(DType dtype, const F& f) {
    switch (dtype) {
    case DType::f16:
        return f(Half{});
    case DType::bf16:
        return f(BFloat16{});
    default:
        return withFloat(dtype, f);
    }
}

/// All dtypes, including f16 and bf16, for conversions and comparisons.
template <class F> void withAny(DType dtype, const F& f) {
    if (isHalfWidth(dtype))
        withStoredFloat(dtype, f);
    else
        withNumberOrBool(dtype, f);
}

/// The unsigned type of the element's size, for operations whose result does not depend on the sign.
template <class F> void withBits(DType dtype, const F& f) {
    switch (sizeOf(dtype)) {
    case 1:
        return f(std::uint8_t{});
    case 2:
        return f(std::uint16_t{});
    case 4:
        return f(std::uint32_t{});
    default:
        return f(std::uint64_t{});
    }
}

/// The element in the type of the arithmetic.
template <class T> TWB_HOST_DEVICE auto widened(T x) {
    if constexpr (isHalf<T>)
        return static_cast<float>(x);
    else
        return x;
}

/// Runs an f32 kernel on f16 and bf16 tensors: inputs are widened and results rounded; other tensors are
/// passed unchanged.
void throughFloat(const KernelContext& ctx, HostKernel kernel);

template <HostKernel K> void viaFloat(const KernelContext& ctx) {
    for (const auto& views : {ctx.inputs, ctx.outputs})
        for (const TensorView& view : views)
            if (isHalfWidth(view.dtype) && view.data) return throughFloat(ctx, K);
    K(ctx);
}

} // namespace twb
