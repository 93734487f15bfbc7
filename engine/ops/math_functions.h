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
