#pragma once

#include "ops/element_functions.h"

#include <type_traits>

namespace twb {

// What an update does to the element that it meets.

struct Assign {
    template <class T> TWB_HOST_DEVICE T operator()(const T&, const T& update) const { return update; }
};
/// Of bools, the sum is or and the product is and, as in NumPy.
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

} // namespace twb
