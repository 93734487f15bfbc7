#pragma once

#include "profile/trace.h"
#include "training/trainer.h"

#include <memory>
#include <optional>

namespace twb {

/// Records all runs of a training for one trace: its steps, and its validations.
class TrainingTrace final : public RunObserver {
public:
    /// The observer of a training's next run, for TrainerOptions::observe.
    RunObserver* observe(const std::shared_ptr<const Plan>& plan, TrainingPart part);

    void started(std::uint64_t run, const Plan& plan, std::int64_t startNs) override;
    void steps(std::uint64_t, std::span<const StepRecord> records) override { m_recorder->add(records); }
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    void finished(RunResult) noexcept override {}

    /// Null before the first run.
    const TraceRecorder* recorder() const noexcept { return m_recorder ? &*m_recorder : nullptr; }
    /// When the first run has started, on the steady clock, in ns.
    std::int64_t startedNs() const noexcept { return m_startedNs; }

private:
    std::optional<TraceRecorder> m_recorder;
    std::shared_ptr<const Plan> m_next;
    TrainingPart m_part = TrainingPart::batch;
    std::int64_t m_startedNs = 0;
};

} // namespace twb
