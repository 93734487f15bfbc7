#pragma once

#include "runtime/executor.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace twb {

/// What happened since the last frame.
struct RunEvents {
    std::vector<StepRecord> records;
    std::int64_t done = 0; ///< completed iterations: the latest word wins
    std::int64_t total = 0;
    std::optional<RunStop> stop; ///< the run waits
    std::optional<RunResult> end;
};

/// Stands between the executor's threads and the window: the executor adds, a frame takes all at once.
/// Nothing that happened is dropped: a batch that is full (the window has not come for it in some ten frames
/// at the highest rate there is) makes the executor wait for the next frame. What belongs to an older run is
/// left out.
class RunBatch final : public RunObserver {
public:
    static constexpr std::size_t kCapacity = 1'000'000; ///< records; one is 40 bytes

    void started(std::uint64_t run, const Plan& plan) override;
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t run, std::int64_t done, std::int64_t total) override;
    AtStop stopped(const RunStop& stop) override;
    void finished(RunResult result) noexcept override;

    /// All events since the last call. For the window's thread.
    RunEvents take();
    /// Until the next run starts nobody takes: whatever still comes is dropped, and nobody waits.
    void close();

private:
    std::mutex m_mutex;
    std::condition_variable m_taken;
    RunEvents m_events;
    std::uint64_t m_run = 0;
    bool m_closed = false;
};

} // namespace twb
