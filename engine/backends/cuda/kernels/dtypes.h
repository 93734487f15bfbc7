#pragma once

#include "ops/dispatch.h"
#include "ops/element_functions.h"

#include <type_traits>

namespace twb::cuda {

template <class T> using Wide = decltype(widened(T{}));

/// Converts a result of the arithmetic to the stored type.
template <class T, class W> TWB_HOST_DEVICE T stored(W value) {
    if constexpr (std::is_same_v<T, W>)
        return value;
    else if constexpr (isHalf<T>)
        return T(static_cast<float>(value));
    else
        return static_cast<T>(value);
}

// Like withStoredFloat (ops/dispatch.h): arithmetic is done in Wide<stored type>.

template <class F> void withStoredNumber(DType dtype, const F& f) {
    if (isInteger(dtype))
        withInteger(dtype, f);
    else
        withStoredFloat(dtype, f);
}

/// Floats, and integers by their bits.
template <class F> void withWrapping(DType dtype, const F& f) {
    if (isInteger(dtype))
        withBits(dtype, f);
    else
        withStoredFloat(dtype, f);
}

} // namespace twb::cuda
