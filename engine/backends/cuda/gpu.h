#pragma once

#include "backends/cuda/event_pool.h"
#include "core/device.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace twb::cuda {

/// A moment on both clocks: an event on the GPU's clock, and the host's steady clock in ns.
struct ClockBase {
    LentEvent event;
    std::int64_t hostNs = 0;
};

/// One GPU: the state shared by its streams, events and allocators, which own it jointly.
class Gpu {
public:
    explicit Gpu(int index) : m_index(index) {}

    int index() const noexcept { return m_index; }
    Device device() const noexcept { return Device::cuda(m_index); }
    /// Makes it the calling thread's current GPU and creates its context. Must come before any other CUDA
    /// call on a thread. The previous GPU is not restored: that would create its context, which takes
    /// hundreds of megabytes, even on an unused GPU.
    void makeCurrent();
    /// A failure shows in the next call.
    void use() const noexcept;

    EventPool& timers() noexcept { return m_timers; } ///< events with timing
    EventPool& marks() noexcept { return m_marks; }   ///< cheaper events without timing

    /// A moment of the last second on both clocks, taken on `idle`.
    std::shared_ptr<const ClockBase> clockBase(cudaStream_t idle);

    /// Like the free check(), but the sentence names the GPU and the way out. After a fatal error the GPU is
    /// lost.
    void check(cudaError_t status, const char* doing);
    /// Finds out, after a failure of `doing`, whether the GPU is lost: then a query of `stream` fails, too.
    bool findsLoss(cudaStream_t stream, const char* doing);

    /// After an unrecoverable CUDA error, nothing runs on this GPU any more. The sentence is that of the
    /// first error.
    void lose(cudaError_t status, const char* doing);
    void lose(const std::string& reason);
    /// Throws Error(failed) with the sentence.
    void throwIfLost() const;
    bool isLost() const noexcept { return m_lost.load(std::memory_order_acquire); }
    std::string lossSentence() const;

private:
    const int m_index;
    EventPool m_timers{*this, cudaEventBlockingSync};
    EventPool m_marks{*this, cudaEventBlockingSync | cudaEventDisableTiming};
    std::mutex m_clockMutex;
    std::shared_ptr<const ClockBase> m_base;
    mutable std::mutex m_lossMutex;
    std::atomic<bool> m_lost{false};
    std::string m_loss;
};

} // namespace twb::cuda
