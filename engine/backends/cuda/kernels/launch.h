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

/// Throws Error(failed) that names the op when the last launch was refused.
void checkLaunch(const Queue& queue);

inline cudaStream_t streamOf(Queue& queue) { return static_cast<cudaStream_t>(queue.stream()); }

template <class F> __global__ void __launch_bounds__(kBlockThreads) runEach(std::int64_t count, F f) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBlockThreads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x; i < count;
         i += step)
        f(i);
}

#endif

/// f(i) for each i in [0, count), in any order and at the same time.
template <class F> void forEach(Queue& queue, std::int64_t count, const F& f) {
    if (count <= 0) return;
#if defined(__CUDACC__)
    // Six to eight blocks fill a multiprocessor, as their registers are: most kernels take 32 to 40. Four
    // rounds or more even out what some have to wait for. (Held to 32, some would spill them.)
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
