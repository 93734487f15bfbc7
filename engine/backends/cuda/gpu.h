#pragma once

#include "backends/cuda/event_pool.h"
#include "core/device.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace twb::cuda {

/// A moment that both clocks know: an event on the GPU's clock, and the host's steady clock in ns.
struct ClockBase {
    LentEvent event;
    std::int64_t hostNs = 0;
};

/// One GPU: what its streams, events and allocators share. They hold it; it is gone when the last of them is.
class Gpu {
public:
    explicit Gpu(int index) : m_index(index) {}

    int index() const noexcept { return m_index; }
    Device device() const noexcept { return Device::cuda(m_index); }
    /// Makes it the calling thread's current GPU, with its context: before anything else is asked of CUDA, on
    /// any thread. It stays so. To go back to another one would make that one's context, too, which takes
    /// hundreds of megabytes of a GPU that nobody may have asked for.
    void makeCurrent() const;
    /// Where that fails, whatever follows says so.
    void use() const noexcept;

    EventPool& timers() noexcept { return m_timers; } ///< events that keep the time
    EventPool& marks() noexcept { return m_marks; }   ///< cheaper events that only order

    /// A moment of the last second on both clocks, taken on `idle`.
    std::shared_ptr<const ClockBase> clockBase(cudaStream_t idle);

    /// After an error that CUDA does not recover from nothing runs on this GPU any more: the first one's
    /// sentence.
    void lose(cudaError_t status, const char* doing);
    void lose(const std::string& reason);
    bool isLost() const noexcept { return m_lost.load(std::memory_order_acquire); }
    std::string lossSentence() const;

private:
    const int m_index;
    EventPool m_timers{cudaEventBlockingSync};
    EventPool m_marks{cudaEventBlockingSync | cudaEventDisableTiming};
    mutable std::mutex m_mutex;
    std::shared_ptr<const ClockBase> m_base;
    std::atomic<bool> m_lost{false};
    std::string m_loss;
};

} // namespace twb::cuda
