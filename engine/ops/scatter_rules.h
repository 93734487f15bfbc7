#pragma once

#include "ops/dispatch.h"
#include "ops/element_functions.h"

#include <cstdint>
#include <string>
#include <type_traits>

namespace twb {

// The reductions of scatter ops: how an update is combined with the existing element.

struct Assign {
    template <class T> TWB_HOST_DEVICE T operator()(const T&, const T& update) const { return update; }
};
/// For bools, the sum is "or" and the product is "and", as in NumPy.
struct AddTo {
    template <class T> TWB_HOST_DEVICE T operator()(T old, T update) const {
        if constexpr (std::is_same_v<T, element::Bool>)
            return old || update;
        else
            return element::Add{}(old, update);
    }
};
struct MultiplyBy {
    template <class T> TWB_HOST_DEVICE T operator()(T old, T update) const {
        if constexpr (std::is_same_v<T, element::Bool>)
            return old && update;
        else
            return element::Mul{}(old, update);
    }
};
/// NaN wins, as in PyTorch's amin and amax.
struct LessOf {
    template <class T> TWB_HOST_DEVICE T operator()(T old, T update) const {
        return update < old || update != update ? update : old;
    }
};
struct GreaterOf {
    template <class T> TWB_HOST_DEVICE T operator()(T old, T update) const {
        return update > old || update != update ? update : old;
    }
};

/// Calls f with a zero of the element type and the rule that `reduction` of ScatterElements or ScatterND
/// names, except "none".
template <class F> void withReduction(const std::string& reduction, DType dtype, const F& f) {
    withNumberOrBool(dtype, [&](auto zero) {
        if (reduction == "add")
            f(zero, AddTo{});
        else if (reduction == "mul")
            f(zero, MultiplyBy{});
        else if (reduction == "min")
            f(zero, LessOf{});
        else
            f(zero, GreaterOf{});
    });
}

/// The sentence that refuses the write index `start`: along `axis` of the cache, the update fits from index 0
/// to `last` only.
std::string sentenceOfWriteIndex(std::int64_t start, int axis, std::int64_t last);

} // namespace twb
