#pragma once

#include <functional>

// CUDA's blocks for the host's compiler: the names that a kernel's source uses, and who gives them a meaning.
// A thread is a fibre of the calling thread; it runs until a barrier that the others are not yet at. So what
// a kernel does is the same in each run, and a barrier that is missing shows: warps, and the threads of each,
// take their turns in a shuffled order.

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
/// Of all threads of a warp.
unsigned __shfl_xor_sync(unsigned mask, unsigned value, int distance);
// NOLINTEND(bugprone-reserved-identifier)

namespace twb::test {

/// kernel() by the threads of each block, one block after the other. Unless blocks are emulated all of it is
/// left to one block of one thread.
void runBlocks(unsigned blocks, dim3 threads, const std::function<void()>& kernel);

/// From now on kernels run in blocks as large as a GPU's; from the start with TWB_TEST_KERNELS=cuda-blocks in
/// the environment.
void emulateBlocks();

} // namespace twb::test
