#pragma once

#include "backends/cuda/kernels/fast_divide.h"
#include "ops/activation_functions.h"
#include "ops/math_functions.h"

#include <cstdint>

namespace twb::cuda {

// The base of every chain's source (chain_source.h). NVRTC compiles the text of this file; in the tests, the
// host's compiler does.

inline constexpr int kChainInputs = 8;
inline constexpr int kChainAxes = 12;
/// The number of bytes that a thread reads and writes at once.
inline constexpr int kChainBytes = 16;

/// kChainBytes of elements.
template <class T, int V> struct alignas(sizeof(T) * V) ChainPack { T values[V]; };

/// The layout in an input of the elements of one pack of the result.
enum class ChainReach : std::uint8_t {
    pack, ///< contiguous, as a pack
    same, ///< a single repeated element
    apart ///< with the stride of the last axis
};

struct ChainInput {
    const void* data;
    ChainReach reach;
    std::int64_t strides[kChainAxes];
};

/// One launch. The result is dense and row-major. Its first `packs` packs are whole and aligned, each within
/// one row; the rest is computed element by element.
struct ChainLaunch {
    std::int64_t total;
    std::int64_t packs;
    bool isSmall; ///< `divide` is valid: there are fewer than 2^31 elements
    int rank;
    std::int64_t sizes[kChainAxes];
    FastDivide divide[kChainAxes];
    ChainInput inputs[kChainInputs];
    void* out;
};

/// Adds the offset of element i in each of N inputs to `offsets`.
template <int N>
TWB_HOST_DEVICE void addChainOffsets(const ChainLaunch& launch, std::int64_t i, std::int64_t* offsets) {
    if (launch.rank == 0) return;
    std::int64_t rest = i;
    TWB_ROLLED
    for (int axis = launch.rank - 1; axis > 0; --axis) {
        const std::int64_t size = launch.sizes[axis];
        const std::int64_t next =
            launch.isSmall ? launch.divide[axis](static_cast<std::uint32_t>(rest)) : rest / size;
        const std::int64_t index = rest - next * size;
        TWB_UNROLLED
        for (int k = 0; k < N; ++k) offsets[k] += index * launch.inputs[k].strides[axis];
        rest = next;
    }
    TWB_UNROLLED
    for (int k = 0; k < N; ++k) offsets[k] += rest * launch.inputs[k].strides[0];
}

/// A pack of an input, starting at `at`.
template <class T, int V>
TWB_HOST_DEVICE ChainPack<T, V> loadChainPack(const T* at, ChainReach reach, std::int64_t stride) {
    if (reach == ChainReach::pack) return *reinterpret_cast<const ChainPack<T, V>*>(at);
    ChainPack<T, V> out;
    if (reach == ChainReach::same) {
        const T value = *at;
        TWB_UNROLLED
        for (int v = 0; v < V; ++v) out.values[v] = value;
    } else {
        TWB_UNROLLED
        for (int v = 0; v < V; ++v) out.values[v] = at[v * stride];
    }
    return out;
}

/// Computes pack number `pack` of the result, `Together` elements at a time. chain(x) computes one element
/// from the inputs' x[0], x[1], …
template <class T, int N, int Together, class Chain>
TWB_HOST_DEVICE void runChainPack(const ChainLaunch& launch, std::int64_t pack, const Chain& chain) {
    constexpr int V = kChainBytes / sizeof(T);
    std::int64_t offsets[N] = {};
    addChainOffsets<N>(launch, pack * V, offsets);
    ChainPack<T, V> in[N];
    TWB_UNROLLED
    for (int k = 0; k < N; ++k) {
        const ChainInput& input = launch.inputs[k];
        const std::int64_t stride = launch.rank > 0 ? input.strides[launch.rank - 1] : 0;
        in[k] = loadChainPack<T, V>(static_cast<const T*>(input.data) + offsets[k], input.reach, stride);
    }
    ChainPack<T, V> result;
    TWB_ROLLED
    for (int done = 0; done < V; done += Together) {
        T y[Together];
        TWB_UNROLLED
        for (int v = 0; v < Together; ++v) {
            T x[N];
            TWB_UNROLLED
            for (int k = 0; k < N; ++k) x[k] = in[k].values[v];
            y[v] = chain(x);
        }
        // Registers cannot be indexed by a loop variable, so the next elements move to the front.
        TWB_UNROLLED
        for (int v = 0; v + Together < V; ++v) {
            TWB_UNROLLED
            for (int k = 0; k < N; ++k) in[k].values[v] = in[k].values[v + Together];
            result.values[v] = result.values[v + Together];
        }
        TWB_UNROLLED
        for (int v = 0; v < Together; ++v) result.values[V - Together + v] = y[v];
    }
    static_cast<ChainPack<T, V>*>(launch.out)[pack] = result;
}

/// Element i of the result.
template <class T, int N, class Chain>
TWB_HOST_DEVICE void runChainElement(const ChainLaunch& launch, std::int64_t i, const Chain& chain) {
    std::int64_t offsets[N] = {};
    addChainOffsets<N>(launch, i, offsets);
    T x[N];
    TWB_UNROLLED
    for (int k = 0; k < N; ++k) x[k] = static_cast<const T*>(launch.inputs[k].data)[offsets[k]];
    static_cast<T*>(launch.out)[i] = chain(x);
}

/// The work of thread number `thread` of `threads`.
template <class T, int N, int Together, class Chain>
TWB_HOST_DEVICE void runChain(const ChainLaunch& launch, std::int64_t thread, std::int64_t threads,
                              const Chain& chain) {
    TWB_ROLLED
    for (std::int64_t pack = thread; pack < launch.packs; pack += threads)
        runChainPack<T, N, Together>(launch, pack, chain);
    constexpr int V = kChainBytes / sizeof(T);
    TWB_ROLLED
    for (std::int64_t i = launch.packs * V + thread; i < launch.total; i += threads)
        runChainElement<T, N>(launch, i, chain);
}

} // namespace twb::cuda
