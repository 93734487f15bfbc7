#pragma once

#include "backends/cuda/kernels/queue.h"

#include <algorithm>
#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace twb::cuda {

#if defined(__CUDACC__)

inline constexpr int kBlockThreads = 256;

/// Throws Error(failed) that names the op if the last launch was rejected.
void checkLaunch(const Queue& queue);

inline cudaStream_t streamOf(Queue& queue) { return static_cast<cudaStream_t>(queue.stream()); }

template <class F> __global__ void __launch_bounds__(kBlockThreads) runEach(std::int64_t count, F f) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBlockThreads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x; i < count;
         i += step)
        f(i);
}

#endif

/// Calls f(i) for each i in [0, count), in any order and concurrently.
template <class F> void forEach(Queue& queue, std::int64_t count, const F& f) {
    if (count <= 0) return;
#if defined(__CUDACC__)
    // Six to eight blocks fill a multiprocessor, since most kernels use 32 to 40 registers. At least four
    // rounds even out waiting times. (A limit of 32 registers would make some kernels spill.)
    const std::int64_t most = static_cast<std::int64_t>(queue.multiprocessors()) * 32;
    const auto blocks = static_cast<unsigned>(std::min((count - 1) / kBlockThreads + 1, most));
    runEach<<<blocks, kBlockThreads, 0, streamOf(queue)>>>(count, f);
    checkLaunch(queue);
#else
    static_cast<void>(queue);
    for (std::int64_t i = 0; i < count; ++i) f(i);
#endif
}

} // namespace twb::cuda
