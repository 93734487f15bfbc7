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
    std::int64_t done = 0;                          ///< completed iterations: the latest report wins
    std::vector<std::pair<PortRef, Tensor>> values; ///< of watched outputs: the latest report wins
    std::optional<RunStop> stop;                    ///< the run waits
    std::optional<RunResult> end;
};

/// Stands between the executor's threads and the window for one run: the executor adds, a frame takes all at
/// once. Nothing is dropped: a batch that is full (the window has not come for it in some ten frames at the
/// highest rate there is) makes the executor wait for the next frame. Each run has a batch of its own, so a
/// late event of one run can never reach another.
class RunBatch final : public RunObserver {
public:
    static constexpr std::size_t kCapacity = 1'000'000; ///< records; one is 40 bytes

    void started(std::uint64_t, const Plan&) override {}
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t run, std::int64_t done, std::int64_t total) override;
    AtStop stopped(const RunStop& stop) override;
    void looked(std::uint64_t run, std::vector<std::pair<PortRef, Tensor>> values) override;
    void finished(RunResult result) noexcept override;

    /// All events since the last call. For the window's thread.
    RunEvents take();
    /// Nobody takes any more: later events are dropped, the executor never waits, and a run that comes to a
    /// breakpoint ends. Cannot be undone.
    void close();

private:
    std::mutex m_mutex;
    std::condition_variable m_taken;
    RunEvents m_events;
    bool m_closed = false;
};

} // namespace twb
