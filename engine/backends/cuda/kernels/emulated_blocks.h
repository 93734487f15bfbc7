#pragma once

#include <functional>

// CUDA's thread blocks on the host: the names that kernel sources use, and their emulation, for builds
// without nvcc. Only the tests make such builds; tests/support/emulated_blocks.cpp defines these. A thread is
// a fibre of the calling thread; it runs until a barrier that other threads have not reached. Results are
// deterministic. Warps and their threads run in a shuffled order, so that a missing barrier shows.

// NOLINTBEGIN(bugprone-reserved-identifier)
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __shared__ static thread_local

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned sizeX = 1, unsigned sizeY = 1, unsigned sizeZ = 1)
        : x(sizeX), y(sizeY), z(sizeZ) {}
};
extern thread_local constinit dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
void __syncwarp();
/// Returns `value` of the thread whose index in the warp is this thread's XOR `distance`. All threads of the
/// warp must call it.
unsigned __shfl_xor_sync(unsigned mask, unsigned value, int distance);
// NOLINTEND(bugprone-reserved-identifier)

namespace twb::cuda {

/// Runs kernel() for the threads of each block, one block after the other. Unless blocks are emulated, one
/// thread of one block does all the work.
void runBlocks(unsigned blocks, dim3 threads, const std::function<void()>& kernel);

/// From now on kernels run in blocks as large as a GPU's. TWB_TEST_KERNELS=cuda-blocks in the environment
/// sets this from the start.
void emulateBlocks();

} // namespace twb::cuda
