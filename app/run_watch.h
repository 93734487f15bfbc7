#pragma once

#include "app/interrupts.h"
#include "profile/ledger.h"
#include "profile/rank_pulse.h"
#include "profile/report.h"
#include "profile/run_events.h"
#include "profile/trace.h"
#include "runtime/executor.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace twb {

/// Observes a run on the executor's threads and collects its figures.
class RunWatch : public RunObserver {
public:
    RunWatch(const std::shared_ptr<const Plan>& plan, bool trace, Interrupts& interrupts);

    void started(std::uint64_t run, const Plan& plan, std::int64_t startNs) override;
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t run, std::int64_t done, std::int64_t total) override;
    /// Ends the run at the first breakpoint, on all ranks.
    AtStop stopped(const RunStop& stop) override;
    void finished(RunResult result) noexcept override;
    /// Writes the run's events from now on; `events` must outlive the run.
    void setEvents(RunEventWriter* events) noexcept { m_events = events; }
    /// Shows the run to the other ranks from now on; `pulse` must outlive the run.
    void setPulse(RankPulseWriter* pulse) noexcept { m_pulse = pulse; }
    /// Call it after isFinished() and before reading the figures.
    void settle() { m_timeline.finish(); }

    std::int64_t done() const noexcept { return m_done; }
    /// When the run has started, on the steady clock, in ns.
    std::int64_t startedNs() const noexcept { return m_startedNs; }
    bool isFinished() const noexcept { return m_finished; }

    // Valid after settle().
    const RunResult& result() const noexcept { return m_result; }
    const std::optional<RunStop>& found() const noexcept { return m_found; } ///< the place of the stop
    /// Why the run was stopped there: "Mul \"product\": its output has 10 NaN, 0 inf in iteration 2".
    std::string foundSentence() const;
    const Ledger& ledger() const noexcept { return m_ledger; }
    const StepTimes& times() const noexcept { return m_times; }
    const RunTimeline& timeline() const noexcept { return m_timeline; }
    const TraceRecorder* trace() const noexcept { return m_trace ? &*m_trace : nullptr; }

private:
    std::shared_ptr<const Plan> m_plan;
    Ledger m_ledger;
    StepTimes m_times;
    RunTimeline m_timeline;
    std::optional<TraceRecorder> m_trace;
    RunEventWriter* m_events = nullptr;
    RankPulseWriter* m_pulse = nullptr;
    Interrupts& m_interrupts;
    RunResult m_result;
    std::optional<RunStop> m_found;
    std::atomic<std::int64_t> m_done{0};
    std::atomic<std::int64_t> m_startedNs{0};
    std::atomic<bool> m_finished{false};
};

/// Runs a plan to its end or to the first Ctrl-C, which cancels it and prints the step that the program waits
/// for on stderr. With `showProgress`, a line on stderr counts the iterations of a long run; it is removed at
/// the end.
void runWatched(const std::shared_ptr<const Plan>& plan, const RunOptions& options, bool showProgress,
                Interrupts& interrupts, RunWatch& watch);

} // namespace twb
