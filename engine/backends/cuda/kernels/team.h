#pragma once

#include "backends/cuda/kernels/launch.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#if !defined(__CUDACC__)
#include "backends/cuda/kernels/emulated_blocks.h"
#endif

namespace twb::cuda {

/// The threads that work on one row together: one, a warp or a block.
class Team {
public:
    __device__ std::int64_t index() const { return threadIdx.x; }
    __device__ std::int64_t size() const { return blockDim.x; }
    __device__ bool isFirst() const { return threadIdx.x == 0; }

    /// A barrier of the team, with visibility of all earlier writes.
    __device__ void wait() const {
        if (blockDim.x == 32)
            __syncwarp();
        else if (blockDim.x > 1)
            __syncthreads();
    }

    /// The states of all threads merged into one, returned to all. `rule.merge(state, other)` may be called
    /// in any order.
    template <class Rule, class State> __device__ State merged(const Rule& rule, State state) const {
        constexpr int warp = 32;
        if (blockDim.x == 1) return state;
        for (int lane = warp / 2; lane > 0; lane /= 2) {
            State later = fromLane(state, lane);
            // Both sides merge the same pair in the same order, so that their results are equal.
            if ((threadIdx.x & static_cast<unsigned>(lane)) != 0) std::swap(state, later);
            rule.merge(state, later);
        }
        if (blockDim.x == warp) return state;
        alignas(16) __shared__ unsigned char memory[sizeof(State) * warp];
        auto* const states = reinterpret_cast<State*>(memory);
        __syncthreads(); // values of the previous call have been read
        if (threadIdx.x % warp == 0) states[threadIdx.x / warp] = state;
        __syncthreads();
        State total = states[0];
        for (unsigned i = 1; i < blockDim.x / warp; ++i) rule.merge(total, states[i]);
        return total;
    }

    /// The values of the threads before this one merged into one; Rule::start() if there are none. It
    /// excludes this thread's value, so that an infinite or much larger value does not affect it.
    template <class Rule, class T> __device__ T before(const Rule& rule, T value) const {
        const T start = Rule::template start<T>();
        if (blockDim.x == 1) return start;
        T total = fromBefore(value, 1, start);
        for (unsigned distance = 1; distance < blockDim.x; distance *= 2)
            rule.merge(total, fromBefore(total, distance, start));
        return total;
    }

    /// The last thread's value, returned to all.
    template <class T> __device__ T fromLast(T value) const {
        if (blockDim.x == 1) return value;
        alignas(16) __shared__ unsigned char memory[sizeof(T) * 32];
        auto* const last = reinterpret_cast<T*>(memory) + threadIdx.y;
        wait(); // the value of the previous call has been read
        if (threadIdx.x == blockDim.x - 1) *last = value;
        wait();
        return *last;
    }

private:
    /// The value of the thread `distance` before this one; `start` for the first threads.
    template <class T> __device__ T fromBefore(T value, unsigned distance, T start) const {
        alignas(16) __shared__ unsigned char memory[sizeof(T) * 512];
        auto* const values = reinterpret_cast<T*>(memory) + threadIdx.y * blockDim.x;
        wait(); // values of the previous call have been read
        values[threadIdx.x] = value;
        wait();
        return threadIdx.x >= distance ? values[threadIdx.x - distance] : start;
    }
    template <class State> __device__ static State fromLane(const State& state, int distance) {
        constexpr int words = (sizeof(State) + 3) / 4;
        unsigned bits[words] = {};
        std::memcpy(bits, &state, sizeof(State));
        for (unsigned& word : bits) word = __shfl_xor_sync(0xffffffffU, word, distance);
        State other = state;
        std::memcpy(&other, bits, sizeof(State));
        return other;
    }
};

/// Merges states by addition.
struct AddStates {
    template <class T> TWB_HOST_DEVICE static T start() { return T{}; }
    template <class T> TWB_HOST_DEVICE void merge(T& state, const T& other) const { state += other; }
};

/// Merges states by multiplication.
struct MultiplyStates {
    template <class T> TWB_HOST_DEVICE static T start() { return T{1}; }
    template <class T> TWB_HOST_DEVICE void merge(T& state, const T& other) const { state *= other; }
};

// Two blocks per multiprocessor: within the resulting limit of 64 registers, ptxas keeps loads together, as
// reduction.h requires, instead of saving registers.
template <class F> __global__ void __launch_bounds__(512, 2) runRows(std::int64_t rows, F f) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
         row += step)
        f(Team(), row);
}

/// The size of a team.
enum class TeamOf {
    rowLength, ///< a warp for short rows; a block for long rows, or if warps would not occupy the GPU
    one        ///< one thread, for interleaved rows
};

/// Calls f(team, row) for each row in [0, rows); rows have about `length` elements each.
template <class F>
void forEachRow(Queue& queue, std::int64_t rows, std::int64_t length, const F& f,
                TeamOf team = TeamOf::rowLength) {
    if (rows <= 0) return;
    dim3 threads(32, 8);
    const bool isFew = rows < std::int64_t{queue.multiprocessors()} * threads.y;
    if (team == TeamOf::one)
        threads = dim3(1, 256);
    else if (length > 1024 || (isFew && length >= 128)) // a long row has at least eight elements per thread
        threads =
            dim3(static_cast<unsigned>(std::clamp<std::int64_t>((length / 8 + 31) / 32 * 32, 128, 512)));
    const std::int64_t most = static_cast<std::int64_t>(queue.multiprocessors()) * 64;
    const auto blocks = static_cast<unsigned>(std::min((rows - 1) / threads.y + 1, most));
#if defined(__CUDACC__)
    runRows<<<blocks, threads, 0, streamOf(queue)>>>(rows, f);
    checkLaunch(queue);
#else
    runBlocks(blocks, threads, [&] { runRows(rows, f); });
#endif
}

} // namespace twb::cuda
