#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace twb::element {

// The function of one element of pointwise ops. The host and the GPU share this code. Signed integers wrap
// around, as in NumPy; since overflow is undefined in C++, the arithmetic uses unsigned types.

/// A bool in a tensor. Files may hold bytes other than 0 and 1, which a C++ bool must not.
struct Bool {
    std::uint8_t byte = 0;
    Bool() = default;
    TWB_HOST_DEVICE constexpr Bool(bool value) : byte(value ? 1 : 0) {}
    TWB_HOST_DEVICE constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(Bool) == 1);

/// The unsigned type for wrapping arithmetic on T; never narrower than int, to which C++ would promote it.
template <class T> using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

struct Add {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        else
            return a + b;
    }
};

struct Sub {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
        else
            return a - b;
    }
};

struct Mul {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
        else
            return a * b;
    }
};

struct Neg {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
        else
            return -x;
    }
};

/// Integers are truncated; the least integer divided by -1 wraps. Division by zero gives 0, and the kernel
/// reports it.
struct Div {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0) return 0;
            if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Neg{}(a);
            return static_cast<T>(a / b);
        } else {
            return a / b;
        }
    }
};

struct Abs {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return x < 0 ? Neg{}(x) : x;
        else
            return std::fabs(x);
    }
};

/// From float to integer: truncates; out-of-range values become the nearest representable one, NaN becomes 0
/// (undefined in ONNX; CUDA and ARM do the same). From integer to a narrower one: keeps the low bits. To
/// bool: not 0.
template <class To, class From> TWB_HOST_DEVICE To cast(From x) {
    if constexpr (std::is_same_v<To, From>) {
        return x;
    } else if constexpr (isHalf<From>) {
        return cast<To>(static_cast<float>(x));
    } else if constexpr (std::is_same_v<To, Bool>) {
        return Bool(x != From(0));
    } else if constexpr (std::is_same_v<From, Bool>) {
        return static_cast<To>(x ? 1 : 0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // The conversion of the largest integer to From may round up; >= excludes that value, too.
        constexpr To low = std::numeric_limits<To>::min();
        constexpr To high = std::numeric_limits<To>::max();
        if (x != x) return 0;
        if (x <= static_cast<From>(low)) return low;
        if (x >= static_cast<From>(high)) return high;
        return static_cast<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

/// PyTorch's integer power: a negative exponent gives 0 unless the base is 1 or -1.
template <class T, class E> TWB_HOST_DEVICE T integerPower(T base, E exponent) {
    if (exponent < 0) {
        if (base == 1) return 1;
        if (base == static_cast<T>(-1)) return exponent % 2 == 0 ? T{1} : static_cast<T>(-1);
        return 0;
    }
    T result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 != 0) result = Mul{}(result, base);
        base = Mul{}(base, base);
    }
    return result;
}

struct Pow {
    template <class T, class E> TWB_HOST_DEVICE T operator()(T base, E exponent) const {
        if constexpr (std::is_integral_v<T> && std::is_integral_v<E>)
            return integerPower(base, exponent);
        else if constexpr (std::is_same_v<T, float> && std::is_same_v<E, float>)
            return std::pow(base, exponent);
        else
            return cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
};

struct Same {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return x; }
};

struct Equal {
    template <class T> TWB_HOST_DEVICE Bool operator()(T a, T b) const { return Bool(a == b); }
};

struct Exp {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::exp(x); }
};

struct Log {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::log(x); }
};

struct Sqrt {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::sqrt(x); }
};

/// NaN stays NaN, since the comparison is false.
struct Relu {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return x < 0 ? T{0} : x; }
};

/// The exponent is never positive, so it cannot overflow.
struct Sigmoid {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        const T e = std::exp(-std::fabs(x));
        return (x < 0 ? e : T{1}) / (T{1} + e);
    }
};

struct Tanh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::tanh(x); }
};

/// x / 2 · (1 + erf(x / √2)), Hendrycks and Gimpel: Gaussian Error Linear Units (2016). Uses erfc, since 1 +
/// erf loses precision for negative x.
struct GeluErf {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        constexpr T rootOfHalf = static_cast<T>(0.70710678118654752440);
        return T(0.5) * x * std::erfc(-x * rootOfHalf);
    }
};

/// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), ONNX Gelu-20 with approximate = tanh.
struct GeluTanh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        constexpr T rootOfTwoOverPi = static_cast<T>(0.79788456080286535588);
        return T(0.5) * x * (T{1} + std::tanh(rootOfTwoOverPi * (x + T(0.044715) * x * x * x)));
    }
};

/// ONNX's Gelu: the choices of its attribute.
struct Gelu {
    int approximate; ///< 0: none, 1: tanh
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return approximate == 1 ? GeluTanh{}(x) : GeluErf{}(x);
    }
};

} // namespace twb::element
