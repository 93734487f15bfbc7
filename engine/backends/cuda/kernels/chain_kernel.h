#pragma once

#include "ops/activation_functions.h"
#include "ops/math_functions.h"

#include <cstdint>

namespace twb::cuda {

// What the source of every chain is built on (chain_source.h): the text of this file is compiled by NVRTC,
// and by the host's compiler in the tests.

inline constexpr int kChainInputs = 8;
inline constexpr int kChainAxes = 12;

/// Where an input's elements lie: `isDense` says that they lie like the result's.
struct ChainInput {
    const void* data;
    bool isDense;
    std::int64_t strides[kChainAxes];
};

/// One launch. The result is dense and row-major.
struct ChainLaunch {
    std::int64_t total;
    int rank;
    std::int64_t sizes[kChainAxes];
    ChainInput inputs[kChainInputs];
    void* out;
};

TWB_HOST_DEVICE inline std::int64_t chainOffset(const ChainLaunch& launch, int input, std::int64_t i) {
    const ChainInput& in = launch.inputs[input];
    if (in.isDense) return i;
    std::int64_t offset = 0;
    for (int axis = launch.rank - 1; axis >= 0; --axis) {
        const std::int64_t next = i / launch.sizes[axis];
        offset += (i - next * launch.sizes[axis]) * in.strides[axis];
        i = next;
    }
    return offset;
}

/// Elements that one thread reads and writes at once.
template <class T, int V> struct alignas(sizeof(T) * V) ChainPack { T values[V]; };

template <class T, int V> TWB_HOST_DEVICE bool isChainAligned(const T* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(ChainPack<T, V>) == 0;
}

/// 16 bytes of the result: pack number `pack`. chain(x) is its element from the inputs' x[0], x[1], …
template <class T, int N, class Chain>
TWB_HOST_DEVICE void runChainPack(const ChainLaunch& launch, std::int64_t pack, const Chain& chain) {
    constexpr int V = 16 / sizeof(T);
    using Pack = ChainPack<T, V>;
    const std::int64_t first = pack * V;
    const bool isWhole = first + V <= launch.total;
    const int count = isWhole ? V : static_cast<int>(launch.total - first);
    Pack in[N];
    for (int k = 0; k < N; ++k) {
        const T* const data = static_cast<const T*>(launch.inputs[k].data);
        if (isWhole && launch.inputs[k].isDense && isChainAligned<T, V>(data + first)) {
            in[k] = *reinterpret_cast<const Pack*>(data + first);
            continue;
        }
        for (int v = 0; v < count; ++v) in[k].values[v] = data[chainOffset(launch, k, first + v)];
    }
    Pack result;
    for (int v = 0; v < count; ++v) {
        T x[N];
        for (int k = 0; k < N; ++k) x[k] = in[k].values[v];
        result.values[v] = chain(x);
    }
    T* const out = static_cast<T*>(launch.out) + first;
    if (isWhole && isChainAligned<T, V>(out)) {
        *reinterpret_cast<Pack*>(out) = result;
        return;
    }
    for (int v = 0; v < count; ++v) out[v] = result.values[v];
}

} // namespace twb::cuda
