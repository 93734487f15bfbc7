#pragma once

#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/walk.h"

#include <cstdint>

namespace twb::cuda {

/// `index` in [0, size), with negative ones counted from the end; -1 after reporting a fault.
TWB_HOST_DEVICE inline std::int64_t checkedIndex(std::int64_t index, std::int64_t size, int axis,
                                                 Fault* fault) {
    if (index >= 0 ? index < size : index >= -size) return index < 0 ? index + size : index;
    raise(fault, Fault::indexOutOfRange, index, axis, size);
    return -1;
}

/// Indices with any layout.
template <class I> struct IndexView {
    using Index = I;
    Walk<1> walk;
    const I* data;

    TWB_HOST_DEVICE std::int64_t operator[](std::int64_t i) const {
        return static_cast<std::int64_t>(data[walk.at(i)[0]]);
    }
    TWB_HOST_DEVICE std::int64_t checked(std::int64_t i, std::int64_t size, int axis, Fault* fault) const {
        return checkedIndex((*this)[i], size, axis, fault);
    }
};

/// Calls f with the IndexView of i32 or i64 indices.
template <class F> void withIndices(const TensorView& indices, const F& f) {
    if (indices.dtype == DType::i32)
        f(IndexView<std::int32_t>{walkOf(indices), indices.as<const std::int32_t>()});
    else
        f(IndexView<std::int64_t>{walkOf(indices), indices.as<const std::int64_t>()});
}

template <class I> struct CheckIndex {
    IndexView<I> at;
    std::int64_t size;
    int axis;
    Fault* fault;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { at.checked(i, size, axis, fault); }
};

/// Reports an index that is out of range; for launches that copy nothing.
inline void checkIndices(Queue& queue, const TensorView& indices, int axis, std::int64_t size) {
    withIndices(indices, [&](const auto& at) {
        using I = typename std::decay_t<decltype(at)>::Index;
        forEach(queue, indices.elementCount(), CheckIndex<I>{at, size, axis, queue.fault()});
    });
}

} // namespace twb::cuda
