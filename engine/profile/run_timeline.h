#pragma once

#include "profile/ledger.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// What a report tells of a run's course: how long each iteration took, how much of each copy went on beside
/// computation, and what ran when in the last iteration. In bounded memory, however long the run.
class RunTimeline {
public:
    RunTimeline() = default;
    explicit RunTimeline(std::shared_ptr<const Plan> plan);

    /// Records as RunObserver::steps gives them: those of one iteration before those of the next.
    void add(std::span<const StepRecord> records);
    /// Nothing more comes.
    void finish();

    /// From the end of one iteration to the end of the next, in ns on the run's clock; of those that all of
    /// was done in.
    const Histogram& iterations() const noexcept { return m_iterations; }
    /// How much of a transfer's time, in ns over all copies in iterations, some step computed at the same
    /// time, on whatever device: one of its own
    /// iteration or of those beside it. By transfer of the plan.
    const std::vector<std::int64_t>& overlapNs() const noexcept { return m_overlapNs; }

    /// What was done in the setup and in the last iteration that all of was done in, as it started.
    const std::vector<StepRecord>& setup() const noexcept { return m_setup; }
    const std::vector<StepRecord>& last() const noexcept { return m_last; }
    /// Records of it that were too many to keep (a Loop of a million trips).
    std::size_t leftOut() const noexcept { return m_leftOut; }

private:
    /// Times at which some step computed, merged and in order.
    struct Span {
        std::int64_t start = 0;
        std::int64_t end = 0;
    };
    struct Iteration {
        std::vector<StepRecord> records;
        std::vector<Span> busy;
        std::size_t leftOut = 0;
        std::int64_t end = 0;
        bool isPart = false; ///< something in it failed, or was cancelled
    };
    void close();
    void countOverlaps(const Iteration& iteration, std::initializer_list<const Iteration*> beside);

    std::shared_ptr<const Plan> m_plan;
    Histogram m_iterations;
    std::vector<std::int64_t> m_overlapNs;
    std::vector<StepRecord> m_setup;
    std::vector<StepRecord> m_last;
    std::size_t m_leftOut = 0;
    Iteration m_whole; ///< the last one that is, where it is none of those below
    Iteration m_older;
    Iteration m_before;
    Iteration m_now;
    std::int64_t m_index = -1; ///< of m_now; -1: none
    std::int64_t m_clock = 0;  ///< the end of what was closed
};

} // namespace twb
