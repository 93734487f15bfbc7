#pragma once

#include "ops/element_functions.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace twb::element {

// The elementwise functions of one or two numbers. The host and the GPU share this code.

struct Sin {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::sin(x); }
};

struct Cos {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::cos(x); }
};

struct Tan {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::tan(x); }
};

struct Asin {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::asin(x); }
};

struct Acos {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::acos(x); }
};

struct Atan {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::atan(x); }
};

struct Sinh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::sinh(x); }
};

struct Cosh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::cosh(x); }
};

struct Asinh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::asinh(x); }
};

struct Acosh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::acosh(x); }
};

struct Atanh {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::atanh(x); }
};

/// Integers are computed in double and truncated.
struct Erf {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(std::erf(static_cast<double>(x)));
        else
            return std::erf(x);
    }
};

/// The y with erf(y) = x; ±∞ at ±1, NaN beyond.
struct Erfinv {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
#ifdef __CUDA_ARCH__
        return ::erfinv(x);
#else
        return static_cast<T>(ofDouble(static_cast<double>(x)));
#endif
    }

#ifndef __CUDA_ARCH__
private:
    /// The first guess is Giles' single-precision polynomial ("Approximating the erfinv function", GPU
    /// Computing Gems, 2010); steps of Halley's method make it exact to a few units of double precision.
    static double ofDouble(double x) {
        const double size = std::abs(x);
        if (!(size < 1))
            return size == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                             : std::numeric_limits<double>::quiet_NaN();
        constexpr double kCentre[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                      -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                      -0.00417768164,  0.246640727,    1.50140941};
        constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};
        constexpr double kPi = 3.141592653589793;
        const double w = -std::log((1 - size) * (1 + size));
        const bool isCentral = w < 5;
        const double at = isCentral ? w - 2.5 : std::sqrt(w) - 3;
        double y = 0;
        for (int i = 0; i < 9; ++i) y = y * at + (isCentral ? kCentre[i] : kTail[i]);
        y *= size;
        if (w > 16) { // beyond single precision: erfc(y) ≈ e^(−y²) / (y √π)
            const double far = -std::log(1 - size);
            y = std::sqrt(far - std::log(kPi * far) / 2);
        }
        for (int step = 0; step < 3; ++step) {
            // Near 1, erf has no digits left for the difference.
            const double excess = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
            const double newton = excess * std::sqrt(kPi) / 2 * std::exp(y * y);
            y -= newton / (1 + y * newton);
        }
        return std::copysign(y, x);
    }
#endif
};

struct Floor {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::floor(x); }
};

struct Ceil {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::ceil(x); }
};

/// Rounds halves to even; this is the default rounding mode, which the program never changes.
struct Round {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return std::nearbyint(x); }
};

/// -1, 0 or 1; NaN stays NaN, as in NumPy.
struct Sign {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        if (x > 0) return T{1};
        if constexpr (std::is_signed_v<T>)
            if (x < 0) return T{-1};
        return x == x ? T{0} : x;
    }
};

struct Reciprocal {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return T{1} / x; }
};

struct IsNaN {
    template <class T> TWB_HOST_DEVICE Bool operator()(T x) const { return Bool(x != x); }
};

struct IsInf {
    bool positive = true;
    bool negative = true;
    template <class T> TWB_HOST_DEVICE Bool operator()(T x) const {
        constexpr T infinity = std::numeric_limits<T>::infinity();
        return Bool((positive && x == infinity) || (negative && x == -infinity));
    }
};

/// The remainder with the sign of `a` (C's % and fmod). An integer remainder by 0 gives 0, and the kernel
/// reports it.
struct Fmod {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
            return static_cast<T>(a % b);
        } else {
            return std::fmod(a, b);
        }
    }
};

/// The remainder with the sign of `b` (Python's %).
struct Remainder {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        const T rest = Fmod{}(a, b);
        if constexpr (std::is_floating_point_v<T>)
            if (rest == 0) return std::copysign(rest, b);
        if constexpr (std::is_signed_v<T>)
            if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
        return rest;
    }
};

/// NaN if either side is NaN.
struct Max {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};

struct Min {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return a < b || a != a ? a : b; }
};

} // namespace twb::element
