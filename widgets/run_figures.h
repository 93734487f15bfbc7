#pragma once

#include "profile/ledger.h"
#include "profile/report.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// One point of the live plot: the slowest copy of a transfer among `RunFigures::cell()` iterations.
struct TransferSample {
    std::uint32_t transfer = 0;
    std::uint32_t iteration = 0; ///< the first of the cell
    std::int64_t ns = 0;
};

/// The figures of one run, as far as its records have come: the ledger, the times of the steps, what is new
/// for the plot, and the last iterations for the timeline. Lives on the window's thread.
class RunFigures {
public:
    /// `iterations` 0: it is not known how many there will be.
    RunFigures(std::shared_ptr<const Plan> plan, std::int64_t iterations);

    void add(std::span<const StepRecord> records);

    const Plan& plan() const noexcept { return *m_plan; }
    std::shared_ptr<const Plan> sharedPlan() const noexcept { return m_plan; }
    const Ledger& ledger() const noexcept { return m_ledger; }
    const StepTimes& steps() const noexcept { return m_steps; }

    /// Iterations that share one point of the plot, so that a long run stays cheap to draw.
    std::uint32_t cell() const noexcept { return m_cell; }
    /// Points of the plot since the last call.
    std::vector<TransferSample> takeSamples();
    /// Steps heard of since the last call, each once.
    std::vector<std::uint32_t> takeTouched();

    /// Records of the latest iterations that are complete (the setup beside the first), oldest first.
    std::vector<StepRecord> lastIterations() const;

private:
    struct Iteration {
        std::uint32_t number = 0;
        std::vector<StepRecord> records;
    };
    void sample(const StepRecord& record, std::uint32_t transfer);
    void remember(const StepRecord& record);

    std::shared_ptr<const Plan> m_plan;
    Ledger m_ledger;
    StepTimes m_steps;
    std::uint32_t m_cell = 1;
    std::vector<TransferSample> m_open; ///< by transfer: the cell that is still filling
    std::vector<TransferSample> m_samples;
    std::vector<std::uint32_t> m_touched;
    std::vector<bool> m_isTouched;
    std::array<Iteration, 4> m_ring; ///< by iteration modulo its size
};

} // namespace twb
