#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace twb {

/// A histogram with buckets that grow by 1/64: any quantile within 0.8 %, in bounded memory (as in
/// HdrHistogram).
class Histogram {
public:
    void add(std::int64_t value) noexcept;
    /// Nearest rank; q in [0, 1]; 0 if empty. The minimum and the maximum are exact.
    double quantile(double q) const noexcept;
    std::uint64_t count() const noexcept { return m_count; }

private:
    std::vector<std::uint32_t> m_buckets; ///< grown as needed, at most 64 per power of two
    std::uint64_t m_count = 0;
    std::int64_t m_least = 0;
    std::int64_t m_most = 0;
};

/// The cost of one transfer so far. Counts and bytes are exact.
struct LedgerRow {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0; ///< total of all copies
    std::int64_t lastNs = 0;
    std::int64_t minNs = 0;
    std::int64_t totalNs = 0;
    std::int64_t waitNs = 0;  ///< total time in the queue, of the copies for which it is known
    std::uint64_t waited = 0; ///< number of these copies
    Histogram times;

    double medianNs() const noexcept { return times.quantile(0.5); }
    double p95Ns() const noexcept { return times.quantile(0.95); }
    /// 10^9 bytes per second at the median time; 0 before the first copy.
    double gbPerSecond() const noexcept;
};

/// The figures of each transfer of a plan, from the records of a run. Rows parallel Plan::transfers.
class Ledger {
public:
    Ledger() = default;
    explicit Ledger(std::shared_ptr<const Plan> plan);
    void add(std::span<const StepRecord> records);
    const std::vector<LedgerRow>& rows() const noexcept { return m_rows; }
    const Plan* plan() const noexcept { return m_plan.get(); }
    std::uint64_t totalBytes() const noexcept;
    std::int64_t totalNs() const noexcept;

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<LedgerRow> m_rows;
};

} // namespace twb
