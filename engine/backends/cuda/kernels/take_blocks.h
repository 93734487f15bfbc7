#pragma once

#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/unit.h"
#include "core/tensor.h"

#include <cstdint>

namespace twb::cuda {

/// out[o, i, :] = in[o, places[i], :].
template <class T> struct TakeBlocks {
    const T* in;
    T* out;
    const std::int64_t* places;
    std::int64_t count, size, inner;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t block = i / inner;
        const std::int64_t outer = block / count;
        out[i] = in[(outer * size + places[block - outer * count]) * inner + i - block * inner];
    }
};

/// Selects the `count` indices in `places` along an axis of `in` with `size` indices and `inner` elements
/// each; both tensors are dense.
inline void takeBlocks(Queue& queue, const TensorView& in, const TensorView& out, const std::int64_t* places,
                       std::int64_t count, std::int64_t size, std::int64_t inner) {
    withUnit(inner * static_cast<std::int64_t>(sizeOf(out.dtype)), {in.data, out.data},
             [&](auto unit, std::int64_t units) {
                 using T = decltype(unit);
                 forEach(queue, out.elementCount() / inner * units,
                         TakeBlocks<T>{in.as<const T>(), out.as<T>(), places, count, size, units});
             });
}

} // namespace twb::cuda
