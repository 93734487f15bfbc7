#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <utility>
#include <vector>

namespace twb::cuda {

class Gpu;

/// CUDA events to borrow, all created with the same flags. They are reused because creating an event takes
/// longer than a launch. Thread-safe.
class EventPool {
public:
    EventPool(Gpu& gpu, unsigned flags) : m_gpu(gpu), m_flags(flags) {}
    ~EventPool();
    /// An unused event. The GPU must be current. Throws like Gpu::check().
    cudaEvent_t take();
    void giveBack(cudaEvent_t event) noexcept;

private:
    Gpu& m_gpu;
    const unsigned m_flags;
    std::mutex m_mutex;
    std::vector<cudaEvent_t> m_free;
};

/// Blocks until an event has passed: spins briefly, since most waits are short, then sleeps.
cudaError_t waitForEvent(cudaEvent_t event) noexcept;

/// A borrowed event; returned by the destructor.
class LentEvent {
public:
    LentEvent() = default;
    explicit LentEvent(EventPool& pool) : m_pool(&pool), m_event(pool.take()) {}
    ~LentEvent() {
        if (m_event) m_pool->giveBack(m_event);
    }
    LentEvent(LentEvent&& other) noexcept
        : m_pool(other.m_pool), m_event(std::exchange(other.m_event, nullptr)) {}
    LentEvent& operator=(LentEvent&& other) noexcept {
        std::swap(m_pool, other.m_pool);
        std::swap(m_event, other.m_event);
        return *this;
    }
    cudaEvent_t get() const noexcept { return m_event; }

private:
    EventPool* m_pool = nullptr;
    cudaEvent_t m_event = nullptr;
};

} // namespace twb::cuda
