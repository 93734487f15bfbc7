#pragma once

#include "ops/dispatch.h"
#include "ops/element_functions.h"

#include <type_traits>

namespace twb::cuda {

// Each calls f with a zero of the type that elements are stored in. Arithmetic is done in
// widened<that type> (ops/dispatch.h): f32 for f16 and bf16.

template <class T> using Wide = decltype(widened(T{}));

/// What arithmetic gave as it is stored.
template <class T, class W> TWB_HOST_DEVICE T stored(W value) {
    if constexpr (std::is_same_v<T, W>)
        return value;
    else if constexpr (isHalf<T>)
        return T(static_cast<float>(value));
    else
        return static_cast<T>(value);
}

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

template <class F> void withStoredNumber(DType dtype, const F& f) {
    if (isInteger(dtype))
        withInteger(dtype, f);
    else
        withStoredFloat(dtype, f);
}

/// The unsigned type of the element's size: for what has no sign, or wraps around alike with one and without.
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

/// Floats, and integers by their bits.
template <class F> void withWrapping(DType dtype, const F& f) {
    if (isInteger(dtype))
        withBits(dtype, f);
    else
        withStoredFloat(dtype, f);
}

} // namespace twb::cuda
