#pragma once

#include "profile/ledger.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// The course of a run for a report: the duration of each iteration, the overlap of each copy with compute,
/// and the timeline of the last iteration. Its memory is bounded, however long the run.
class RunTimeline {
public:
    RunTimeline() = default;
    explicit RunTimeline(std::shared_ptr<const Plan> plan);

    /// Records as from RunObserver::steps, iteration by iteration.
    void add(std::span<const StepRecord> records);
    /// Must be called after the last record.
    void finish();

    /// From the end of one iteration to the end of the next, in ns on the run's clock; only complete
    /// iterations.
    const Histogram& iterations() const noexcept { return m_iterations; }
    /// By transfer of the plan: the time, in ns over all copies in iterations, during which some step on any
    /// device computed. Steps of neighbouring iterations count too.
    const std::vector<std::int64_t>& overlapNs() const noexcept { return m_overlapNs; }

    /// The records of the setup and of the last complete iteration, sorted by start.
    const std::vector<StepRecord>& setup() const noexcept { return m_setup; }
    const std::vector<StepRecord>& last() const noexcept { return m_last; }
    /// Number of records of that iteration that did not fit (a Loop of a million trips).
    std::size_t leftOut() const noexcept { return m_leftOut; }

private:
    /// Times during which some step computed, merged and sorted.
    struct Span {
        std::int64_t start = 0;
        std::int64_t end = 0;
    };
    struct Iteration {
        std::vector<StepRecord> records;
        std::vector<Span> busy;
        std::size_t leftOut = 0;
        std::int64_t end = 0;
        bool isPart = false; ///< a step failed or was cancelled
    };
    void close();
    void countOverlaps(const Iteration& iteration);

    std::shared_ptr<const Plan> m_plan;
    Histogram m_iterations;
    std::vector<std::int64_t> m_overlapNs;
    std::vector<StepRecord> m_setup;
    std::vector<StepRecord> m_last;
    std::size_t m_leftOut = 0;
    std::deque<Iteration> m_recent; ///< closed: as many as may overlap with the copies of the last of them
    Iteration m_whole;              ///< the last complete iteration that has left m_recent
    Iteration m_now;
    std::int64_t m_index = -1; ///< of m_now; -1: none
    std::int64_t m_clock = 0;  ///< the end of the last closed iteration
};

} // namespace twb
