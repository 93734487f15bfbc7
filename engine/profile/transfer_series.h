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

/// The copies of one transfer in the iterations of one point of a plot.
struct TransferPoint {
    std::uint32_t count = 0; ///< copies; 0: none
    std::int64_t slowestNs = 0;
    std::int64_t sumNs = 0;
    std::uint64_t bytes = 0; ///< total of the copies
};

/// The transfers of a run over its iterations, in bounded memory. A point stands for cell() iterations; when
/// there are too many points, neighbours are merged in pairs.
class TransferSeries {
public:
    explicit TransferSeries(std::shared_ptr<const Plan> plan);

    /// Records as from RunObserver::steps, iteration by iteration.
    void add(std::span<const StepRecord> records);

    const Plan& plan() const noexcept { return *m_plan; }
    /// Iterations per point: a power of two.
    std::uint32_t cell() const noexcept { return m_cell; }
    /// Number of points. The last one may be incomplete.
    std::size_t size() const noexcept { return m_ends.size(); }
    const TransferPoint& at(std::size_t point, std::size_t transfer) const {
        return m_points[point * m_transfers + transfer];
    }
    /// The time from the end of the previous point (for the first point: of the setup) to the end of this
    /// one, in ns on the run's clock. 0 if no step of the point has ended.
    std::int64_t durationNs(std::size_t point) const noexcept;
    std::size_t mostPoints() const noexcept { return m_most; }

private:
    void fold();

    std::shared_ptr<const Plan> m_plan;
    std::size_t m_transfers = 0;
    std::size_t m_most = 0;
    std::uint32_t m_cell = 1;
    std::vector<TransferPoint> m_points; ///< by point, then by transfer
    std::vector<std::int64_t> m_ends;    ///< by point: the end of its last step
    std::int64_t m_setupEnd = 0;
};

/// All points of all transfers of the iterations as CSV, with the header
///
///     edge, kind, iteration (the first), iterations, copies, slowest_ms, total_ms, bytes, gb_per_s (of the
///     slowest copy), bytes_per_s (of the run's time), share_of_iteration_percent, predicted_ms, times
///     ("measured" or "modelled").
std::string toCsv(const TransferSeries& series);

} // namespace twb
