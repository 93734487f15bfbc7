#pragma once

#include "profile/ledger.h"
#include "profile/report.h"
#include "profile/run_timeline.h"
#include "profile/transfer_series.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// The figures of one run from the records so far: the ledger, the times of the steps, the transfers over the
/// iterations, and recent records for the timeline. Used on the window's thread; bounded memory.
class RunFigures {
public:
    static constexpr std::size_t kMostRecords = 1'000'000; ///< limit of recent(); a record has 48 bytes

    /// `isOfGraph`: by step, whether it counts for the graph (RunTrace); empty: all do.
    explicit RunFigures(std::shared_ptr<const Plan> plan, std::vector<bool> isOfGraph = {});

    void add(std::span<const StepRecord> records);
    /// Must be called after the last record.
    void finish() { m_timeline.finish(); }

    const Plan& plan() const noexcept { return *m_plan; }
    bool isOfGraph(std::uint32_t step) const { return m_isOfGraph.empty() || m_isOfGraph[step]; }
    bool isTransferOfGraph(std::size_t transfer) const { return m_isTransferOfGraph[transfer]; }
    std::shared_ptr<const Plan> sharedPlan() const noexcept { return m_plan; }
    const Ledger& ledger() const noexcept { return m_ledger; }
    const StepTimes& steps() const noexcept { return m_steps; }
    const RunTimeline& timeline() const noexcept { return m_timeline; }
    std::shared_ptr<const TransferSeries> series() const noexcept { return m_series; }

    /// Steps with new records since the last call, without duplicates.
    std::vector<std::uint32_t> takeTouched();

    /// The records of the last `iterations` complete iterations (and of the setup, with the first), oldest
    /// first, as far as they are kept.
    std::vector<StepRecord> recent(std::size_t iterations) const;
    /// The maximum length of recent().
    std::size_t remembered() const noexcept { return m_remembered; }

private:
    struct Iteration {
        std::uint32_t number = 0;
        std::vector<StepRecord> records;
    };
    void remember(const StepRecord& record);

    std::shared_ptr<const Plan> m_plan;
    std::vector<bool> m_isOfGraph;
    std::vector<bool> m_isTransferOfGraph; ///< those of its steps
    Ledger m_ledger;
    StepTimes m_steps;
    RunTimeline m_timeline;
    std::shared_ptr<TransferSeries> m_series;
    std::vector<std::uint32_t> m_touched;
    std::vector<bool> m_isTouched;
    std::deque<Iteration> m_recent;
    std::size_t m_remembered = 0; ///< number of records in it
};

} // namespace twb
