#pragma once

#include "ops/element_functions.h"

#include <cmath>
#include <type_traits>

namespace twb::element {

// The elementwise functions of the activations in ops/activation.cpp. The host and the GPU share this code.
// Parameters are doubles and are rounded once to the element's type. NaN stays NaN, except in ThresholdedRelu
// and Shrink, where ONNX defines 0 for every element within the bounds.

struct LeakyRelu {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return x < 0 ? static_cast<T>(alpha) * x : x;
    }
};

/// expm1 is more precise than e ^ x − 1 near 0.
struct Elu {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x;
    }
};

struct Selu {
    double alpha;
    double gamma;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return x > 0 ? static_cast<T>(gamma) * x : static_cast<T>(gamma * alpha) * std::expm1(x);
    }
};

struct Celu {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        const T a = static_cast<T>(alpha);
        return x < 0 ? a * std::expm1(x / a) : x;
    }
};

struct HardSigmoid {
    double alpha;
    double beta;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        const T y = static_cast<T>(alpha) * x + static_cast<T>(beta);
        return y < 0 ? T{0} : y > 1 ? T{1} : y;
    }
};

/// x · HardSigmoid(x) with alpha 1/6 and beta 1/2.
struct HardSwish {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return x * HardSigmoid{1.0 / 6, 0.5}(x); }
};

/// ln(1 + e ^ x). The exponents are never positive, so nothing overflows.
struct Softplus {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return (x > 0 ? x : x == x ? T{0} : x) + std::log1p(std::exp(-std::fabs(x)));
    }
};

struct Softsign {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return x / (T{1} + std::fabs(x)); }
};

/// x · tanh(softplus x), Misra: Mish (2019).
struct Mish {
    template <class T> TWB_HOST_DEVICE T operator()(T x) const { return x * std::tanh(Softplus{}(x)); }
};

/// x · sigmoid(alpha · x), Ramachandran, Zoph, Le: Searching for Activation Functions (2017).
struct Swish {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return x * Sigmoid{}(static_cast<T>(alpha) * x);
    }
};

/// swish(a) · b, Shazeer: GLU Variants Improve Transformer (2020).
struct SwiGlu {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const { return Swish{alpha}(a)*b; }
};

struct ThresholdedRelu {
    double alpha;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        return x > static_cast<T>(alpha) ? x : T{0};
    }
};

/// Moves x towards 0 by `bias`; elements within `lambd` of 0 become 0. Integers are computed in double and
/// truncated.
struct Shrink {
    double bias;
    double lambd;
    template <class T> TWB_HOST_DEVICE T operator()(T x) const {
        using Wide = std::conditional_t<std::is_integral_v<T>, double, T>;
        const Wide wide = static_cast<Wide>(x);
        if (wide < static_cast<Wide>(-lambd)) return cast<T>(wide + static_cast<Wide>(bias));
        if (wide > static_cast<Wide>(lambd)) return cast<T>(wide - static_cast<Wide>(bias));
        return T{0};
    }
};

/// The gradient of Relu's input from that of its result y.
struct ReluGrad {
    template <class T> TWB_HOST_DEVICE T operator()(T dy, T y) const { return y > T(0) ? dy : T(0); }
};

struct PRelu {
    template <class T> TWB_HOST_DEVICE T operator()(T x, T slope) const {
        return x < 0 ? Mul{}(slope, x) : x;
    }
};

/// NaN in x or in a bound gives NaN. If the bounds cross, the upper one wins.
template <class T> struct Clip {
    T low;
    T high;
    TWB_HOST_DEVICE T operator()(T x) const {
        if (low != low || high != high) return low != low ? low : high;
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
    }
};

} // namespace twb::element
