#pragma once

#include "core/dtype.h"
#include "core/error.h"
#include "ops/element_functions.h"

#include <fmt/format.h>

#include <cstdint>

namespace twb {

[[noreturn]] inline void noKernelFor(DType dtype) {
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no CPU kernel for {} yet; cast to f32", name(dtype)));
}

/// Each calls f with a value of the C++ type behind `dtype`, out of a set of dtypes (ops/schema.h).
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

template <class F> void withNumber(DType dtype, const F& f) {
    switch (dtype) {
    case DType::f32:
        return f(float{});
    case DType::f64:
        return f(double{});
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    default:
        noKernelFor(dtype);
    }
}

template <class F> void withValue(DType dtype, const F& f) {
    switch (dtype) {
    case DType::i8:
        return f(std::int8_t{});
    case DType::i16:
        return f(std::int16_t{});
    case DType::u8:
        return f(std::uint8_t{});
    case DType::u16:
        return f(std::uint16_t{});
    case DType::u32:
        return f(std::uint32_t{});
    case DType::u64:
        return f(std::uint64_t{});
    case DType::boolean:
        return f(element::Bool{});
    default:
        return withNumber(dtype, f);
    }
}

} // namespace twb
