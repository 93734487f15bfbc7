#pragma once

#include "runtime/executor.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Measures how long a run waits for its data: the time in which batches are loaded, prepared or copied, and
/// no other step runs.
class DataWaits final : public RunObserver {
public:
    void started(std::uint64_t run, const Plan& plan) override;
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    void finished(RunResult) noexcept override {}

    /// In ns, on the clock of the run; after the run.
    std::int64_t waitNs();

private:
    struct Span {
        std::int64_t startNs = 0;
        std::int64_t endNs = 0;
        bool isData = false;
    };
    std::vector<bool> m_isData; ///< by step
    std::vector<Span> m_spans;
};

} // namespace twb
