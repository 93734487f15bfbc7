#pragma once

#include "ops/element_functions.h"

#include <limits>
#include <type_traits>

namespace twb::element {

// The elementwise functions of comparisons and of logic on bools and bits. The host and the GPU share this
// code.

struct Greater {
    template <class T> TWB_HOST_DEVICE Bool operator()(T a, T b) const { return Bool(a > b); }
};

struct GreaterOrEqual {
    template <class T> TWB_HOST_DEVICE Bool operator()(T a, T b) const { return Bool(a >= b); }
};

struct Less {
    template <class T> TWB_HOST_DEVICE Bool operator()(T a, T b) const { return Bool(a < b); }
};

struct LessOrEqual {
    template <class T> TWB_HOST_DEVICE Bool operator()(T a, T b) const { return Bool(a <= b); }
};

struct And {
    TWB_HOST_DEVICE Bool operator()(Bool a, Bool b) const { return Bool(a && b); }
};

struct Or {
    TWB_HOST_DEVICE Bool operator()(Bool a, Bool b) const { return Bool(a || b); }
};

struct Xor {
    TWB_HOST_DEVICE Bool operator()(Bool a, Bool b) const {
        return Bool(static_cast<bool>(a) != static_cast<bool>(b));
    }
};

struct Not {
    TWB_HOST_DEVICE Bool operator()(Bool x) const { return Bool(!x); }
};

struct BitwiseAnd {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return static_cast<T>(a & b); }
};

struct BitwiseOr {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return static_cast<T>(a | b); }
};

struct BitwiseXor {
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};

struct BitwiseNot {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return static_cast<T>(~x); }
};

/// Whether a shift by `shift` leaves bits of the value: 0 ≤ shift < width. Otherwise a left shift gives 0, a
/// right shift 0 or, for negative numbers, −1.
template <class T> TWB_HOST_DEVICE bool keepsBits(T shift) {
    return static_cast<std::make_unsigned_t<T>>(shift) < 8 * sizeof(T);
}

struct ShiftLeft {
    template <class T> TWB_HOST_DEVICE T operator()(T x, T by) const {
        return keepsBits(by) ? static_cast<T>(static_cast<Wrapping<T>>(x) << by) : T{0};
    }
};

struct ShiftRight {
    template <class T> TWB_HOST_DEVICE T operator()(T x, T by) const {
        if (keepsBits(by)) return static_cast<T>(x >> by);
        return std::is_signed_v<T> && x < 0 ? static_cast<T>(-1) : T{0};
    }
};

} // namespace twb::element
