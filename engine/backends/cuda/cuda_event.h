#pragma once

#include "backends/backend.h"
#include "backends/cuda/gpu.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace twb::cuda {

/// One record of an event. It is shared by the event, by the command that makes the record and by the
/// commands that wait for it. Each record has its own CUDA event, so a later record does not overwrite one
/// that is still waited for.
class Mark {
public:
    Mark(std::shared_ptr<Gpu> gpu, std::uint64_t number) : m_gpu(std::move(gpu)), m_number(number) {}

    std::uint64_t number() const noexcept { return m_number; }
    /// Called by the worker of the recording stream: the event was recorded in the stream, or it never will
    /// be.
    void issue(cudaStream_t stream);
    void giveUp() noexcept { settle(kGivenUp); }
    /// Blocks until the event is recorded or abandoned; false if it was abandoned.
    bool waitUntilIssued() const noexcept;
    /// Blocks until the GPU has passed the event.
    void wait() const;
    bool isPassed() const;
    /// Requires that the event was recorded.
    cudaEvent_t event() const noexcept { return m_event.get(); }

    /// On the stream's virtual clock; set by its timeline.
    void resolve(std::int64_t virtualTime) noexcept {
        m_virtualTime.store(virtualTime, std::memory_order_relaxed);
        m_isResolved.store(true, std::memory_order_release);
    }
    bool isResolved() const noexcept { return m_isResolved.load(std::memory_order_acquire); }
    std::int64_t virtualTime() const noexcept { return m_virtualTime.load(std::memory_order_relaxed); }

private:
    enum State : int { kPending, kIssued, kGivenUp };
    void settle(State state) noexcept {
        m_state.store(state, std::memory_order_release);
        m_state.notify_all();
    }

    const std::shared_ptr<Gpu> m_gpu;
    LentEvent m_event; ///< once recorded
    const std::uint64_t m_number;
    std::atomic<int> m_state{kPending};
    std::atomic<bool> m_isResolved{false};
    std::atomic<std::int64_t> m_virtualTime{0};
};

/// An event of one GPU's streams.
class CudaEvent final : public Event {
public:
    explicit CudaEvent(std::shared_ptr<Gpu> gpu) : m_gpu(std::move(gpu)) {}

    std::uint64_t recorded() const override;
    void waitFor(std::uint64_t record) override;
    std::int64_t virtualTime(std::uint64_t record) const override;
    bool isDone() const override;

    /// The mark of the record that is being submitted.
    std::shared_ptr<Mark> newMark();
    /// The mark of the last submitted record; null before the first.
    std::shared_ptr<Mark> lastMark() const;

private:
    static constexpr std::size_t kRemembered = 4;
    const std::shared_ptr<Gpu> m_gpu;
    mutable std::mutex m_mutex;
    std::deque<std::shared_ptr<Mark>>
        m_marks; ///< the last kRemembered, and earlier ones that may not have passed
    std::uint64_t m_count = 0;
};

} // namespace twb::cuda
