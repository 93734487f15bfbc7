#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/pointwise.h"

#include <cstring>

namespace twb::cuda {
namespace {

template <class T> struct Fill {
    static constexpr int V = kPackOf<T>;
    T* out;
    std::int64_t total;
    T value;
    TWB_HOST_DEVICE void operator()(std::int64_t pack) const {
        const std::int64_t first = pack * V;
        if (first + V <= total) {
            Pack<T, V> all;
            for (int v = 0; v < V; ++v) all.values[v] = value;
            storePack<T, V>(out + first, 1, all);
            return;
        }
        TWB_ROLLED
        for (std::int64_t i = first; i < total; ++i) out[i] = value;
    }
};

} // namespace

void fillView(Queue& queue, const TensorView& out, const void* element) {
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        Fill<T> fill{out.as<T>(), out.elementCount(), zero};
        std::memcpy(&fill.value, element, sizeof(T));
        forEach(queue, (fill.total + fill.V - 1) / fill.V, fill);
    });
}

} // namespace twb::cuda
