#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace twb {

/// What one transfer did in the iterations of one point.
struct TransferPoint {
    std::uint32_t count = 0; ///< copies; 0: none
    std::int64_t slowestNs = 0;
    std::int64_t sumNs = 0;
    std::uint64_t bytes = 0; ///< of all of them
};

/// How the transfers of a run went over its iterations, from the first to the latest, in bounded memory
/// however long it is: a point stands for cell() iterations, and whenever there are too many points two
/// neighbours become one.
class TransferSeries {
public:
    explicit TransferSeries(std::shared_ptr<const Plan> plan);

    /// Records as RunObserver::steps gives them: those of one iteration before those of the next.
    void add(std::span<const StepRecord> records);

    const Plan& plan() const noexcept { return *m_plan; }
    /// Iterations that share a point: a power of two.
    std::uint32_t cell() const noexcept { return m_cell; }
    /// Points so far. The last one may be still filling.
    std::size_t size() const noexcept { return m_ends.size(); }
    const TransferPoint& at(std::size_t point, std::size_t transfer) const {
        return m_points[point * m_transfers + transfer];
    }
    /// From the end of the point before to this one's, in ns on the run's clock; 0 while nothing has ended.
    std::int64_t durationNs(std::size_t point) const noexcept;
    std::size_t mostPoints() const noexcept { return m_most; }

private:
    void fold();

    std::shared_ptr<const Plan> m_plan;
    std::size_t m_transfers = 0;
    std::size_t m_most = 0;
    std::uint32_t m_cell = 1;
    std::vector<TransferPoint> m_points; ///< by point, then by transfer
    std::vector<std::int64_t> m_ends;    ///< by point: when its last step ended
    std::int64_t m_setupEnd = 0;
};

/// Every point of every transfer of the iterations, a line each, with names in the first:
///
///     edge, kind, iteration (the first), iterations, copies, slowest_ms, total_ms, bytes,
///     gb_per_s (of the slowest copy), bytes_per_s (of the run's time), share_of_iteration_percent,
///     predicted_ms, times ("measured" or "modelled")
std::string toCsv(const TransferSeries& series);

} // namespace twb
