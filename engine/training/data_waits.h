#pragma once

#include "runtime/executor.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Measures how long a run waits for its data: the time in which batches are loaded, prepared or copied, and
/// no other step runs.
class DataWaits final : public RunObserver {
public:
    /// `next` receives the events, too; may be null.
    explicit DataWaits(RunObserver* next = nullptr) : m_next(next) {}
    void started(std::uint64_t run, const Plan& plan, std::int64_t startNs) override;
    void steps(std::uint64_t run, std::span<const StepRecord> records) override;
    void progress(std::uint64_t run, std::int64_t done, std::int64_t total) override;
    void finished(RunResult result) noexcept override;

    /// In ns, on the clock of the run; after the run.
    std::int64_t waitNs();

private:
    struct Span {
        std::int64_t startNs = 0;
        std::int64_t endNs = 0;
        bool isData = false;
    };
    RunObserver* m_next;
    std::vector<bool> m_isData; ///< by step
    std::vector<Span> m_spans;
};

} // namespace twb
