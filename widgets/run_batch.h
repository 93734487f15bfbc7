#pragma once

#include "runtime/executor.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace twb {

/// The events since the last frame.
struct RunEvents {
    std::vector<StepRecord> records;
    std::int64_t done = 0;                          ///< completed iterations, from the latest report
    std::vector<std::pair<PortRef, Tensor>> values; ///< of watched outputs: the latest report wins
    std::optional<RunStop> stop;                    ///< the run is waiting
    std::optional<RunResult> end;
};

/// Passes a run's events from the executor's threads to the window: the executor adds, a frame takes all at
/// once. Nothing is dropped: if a batch is full (the window has not taken it for about ten frames at the
/// highest rate), the executor waits for the next frame. Each run has its own batch, so late events of one
/// run never reach another.
class RunBatch final : public RunObserver {
public:
    static constexpr std::size_t kCapacity = 1'000'000; ///< records; one is 40 bytes

    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t run, std::int64_t done, std::int64_t total) override;
    AtStop stopped(const RunStop& stop) override;
    void looked(std::uint64_t run, std::vector<std::pair<PortRef, Tensor>> values) override;
    void finished(RunResult result) noexcept override;

    /// All events since the last call. For the window's thread.
    RunEvents take();
    /// From now on events are dropped, the executor never waits, and a run that reaches a breakpoint ends.
    /// Cannot be undone.
    void close();

private:
    std::mutex m_mutex;
    std::condition_variable m_taken;
    RunEvents m_events;
    bool m_closed = false;
};

} // namespace twb
