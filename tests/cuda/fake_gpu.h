#pragma once

#include "cuda/fake_runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

// The GPUs of the stand-in, for the files that implement its calls.

namespace twb::test::fake {

using Clock = std::chrono::steady_clock;

struct Allocation {
    std::size_t bytes = 0;
    int gpu = -1; ///< -1: page-locked host memory
};

/// One lock for everything: the fake models order, not speed.
struct World {
    std::mutex mutex;
    std::condition_variable changed;
    Machine machine;
    std::map<std::uintptr_t, Allocation> allocations;
    std::map<int, std::size_t> used;
    std::map<int, std::size_t> kept; ///< freed, but still held by the pool
    std::set<int> lost;              ///< GPUs
    Loss loss;
    int calls = 0;    ///< of GPU 0, since lose()
    int commands = 0; ///< of GPU 0, since lose()
    int pageableCopies = 0;
    int captures = 0;
    int graphLaunches = 0;
};

World& world();

inline thread_local int currentGpu = 0;
inline std::atomic<unsigned> contexts{0}; ///< a bit for each GPU

/// As in CUDA, every call creates the context of the current GPU.
inline void makeContext() { contexts |= 1U << static_cast<unsigned>(currentGpu); }
inline thread_local cudaError_t lastError = cudaSuccess;

inline cudaError_t say(cudaError_t status) {
    if (status != cudaSuccess) lastError = status;
    return status;
}

/// The state of a GPU. The lock must be held.
inline bool isLost(int gpu) { return world().lost.contains(gpu); }
inline cudaError_t stateOf(int gpu) { return isLost(gpu) ? world().loss.error : cudaSuccess; }

/// Loses GPU 0 if this is the moment of its loss. The lock must be held.
inline void count(int gpu, Loss::At at) {
    if (gpu != 0) return;
    int& counted = at == Loss::At::call ? world().calls : world().commands;
    if (++counted == world().loss.number && world().loss.at == at) {
        world().lost.insert(gpu);
        world().changed.notify_all();
    }
}

/// Every call that does not poll begins with this.
inline cudaError_t call(int gpu = currentGpu) {
    const std::scoped_lock lock(world().mutex);
    count(gpu, Loss::At::call);
    return say(stateOf(gpu));
}

inline const Allocation* find(const void* memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    auto at = world().allocations.upper_bound(address);
    if (at == world().allocations.begin()) return nullptr;
    --at;
    return address < at->first + std::max<std::size_t>(at->second.bytes, 1) ? &at->second : nullptr;
}

} // namespace twb::test::fake

// The CUDA runtime declares these names.

/// The work recorded by a capture, which each launch repeats.
struct CUgraph_st {
    ~CUgraph_st() {
        const std::scoped_lock lock(twb::test::fake::world().mutex);
        for (void* block : memory) {
            twb::test::fake::world().allocations.erase(reinterpret_cast<std::uintptr_t>(block));
            std::free(block);
        }
    }
    std::vector<std::function<void()>> commands;
    std::vector<void*> memory;
};

struct CUgraphExec_st {
    std::unique_ptr<CUgraph_st> graph;
};

struct CUevent_st {
    int gpu = twb::test::fake::currentGpu;
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    twb::test::fake::Clock::time_point time;
};

struct CUmemPoolHandle_st {
    int gpu = 0;
};

struct CUstream_st {
    CUstream_st() : gpu(twb::test::fake::currentGpu), thread([this] { work(); }) {}
    ~CUstream_st() {
        push(nullptr);
        thread.join();
    }
    void push(std::function<void()> command) {
        const std::scoped_lock lock(twb::test::fake::world().mutex);
        if (captured) return captured->commands.push_back(std::move(command));
        commands.push_back(std::move(command));
        ++submitted;
        twb::test::fake::world().changed.notify_all();
    }
    void work() {
        std::mt19937 random(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(this) >> 4));
        for (;;) {
            std::function<void()> command;
            int delay = 0;
            bool isDropped = false;
            {
                std::unique_lock lock(twb::test::fake::world().mutex);
                twb::test::fake::world().changed.wait(lock, [this] { return !commands.empty(); });
                command = std::move(commands.front());
                commands.pop_front();
                if (twb::test::fake::world().machine.mostDelayUs > 0)
                    delay = static_cast<int>(
                        random() % static_cast<unsigned>(twb::test::fake::world().machine.mostDelayUs));
            }
            if (!command) return;
            if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
            {
                const std::scoped_lock lock(twb::test::fake::world().mutex);
                twb::test::fake::count(gpu, twb::test::fake::Loss::At::command);
                isDropped = twb::test::fake::isLost(gpu);
            }
            try {
                if (!isDropped) command();
            } catch (...) {
                const std::scoped_lock lock(twb::test::fake::world().mutex);
                twb::test::fake::world().lost.insert(gpu);
            }
            const std::scoped_lock lock(twb::test::fake::world().mutex);
            ++completed;
            twb::test::fake::world().changed.notify_all();
        }
    }
    const int gpu;
    std::deque<std::function<void()>> commands;
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::unique_ptr<CUgraph_st> captured; ///< null: no capture; work runs immediately
    bool isCaptureLost = false;
    std::thread thread;
};

namespace twb::test::fake {

inline thread_local CUstream_st* capturing = nullptr; ///< by this thread
inline thread_local cudaStreamCaptureMode captureMode = cudaStreamCaptureModeThreadLocal;

/// Calls that are not allowed while `stream` captures.
inline bool losesCapture(CUstream_st* stream) {
    if (stream->captured) stream->isCaptureLost = true;
    return stream->captured != nullptr;
}

/// Calls that the capturing thread must not make on any stream.
inline bool losesCapture() {
    if (!capturing || captureMode == cudaStreamCaptureModeRelaxed) return false;
    return losesCapture(capturing);
}

} // namespace twb::test::fake
