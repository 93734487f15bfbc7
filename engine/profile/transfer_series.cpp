#include "profile/transfer_series.h"

#include "profile/csv.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

constexpr std::size_t kMostPoints = 1024; ///< about the width of a plot in pixels
constexpr std::size_t kLeastPoints = 64;
constexpr std::size_t kAllPoints = 1'000'000; ///< of all transfers together; a point has 32 bytes

} // namespace

TransferSeries::TransferSeries(std::shared_ptr<const Plan> plan)
    : m_plan(std::move(plan)), m_transfers(m_plan->transfers.size()),
      m_most(std::clamp(kAllPoints / std::max<std::size_t>(1, m_transfers), kLeastPoints, kMostPoints)) {}

void TransferSeries::add(std::span<const StepRecord> records) {
    for (const StepRecord& record : records) {
        if (record.state != StepState::done) continue;
        const Step& step = m_plan->steps[record.step];
        if (step.setup) {
            m_setupEnd = std::max(m_setupEnd, record.endNs);
            continue;
        }
        while (record.iteration / m_cell >= m_most) fold();
        const std::size_t point = record.iteration / m_cell;
        if (point >= m_ends.size()) {
            m_ends.resize(point + 1, m_ends.empty() ? m_setupEnd : m_ends.back());
            m_points.resize((point + 1) * m_transfers);
        }
        m_ends[point] = std::max(m_ends[point], record.endNs);
        if (step.transfer == kNone) continue;
        TransferPoint& sum = m_points[point * m_transfers + step.transfer];
        const std::int64_t ns = record.endNs - record.startNs;
        ++sum.count;
        sum.slowestNs = std::max(sum.slowestNs, ns);
        sum.sumNs += ns;
        sum.bytes += record.bytes;
    }
}

void TransferSeries::fold() {
    const std::size_t after = (m_ends.size() + 1) / 2;
    for (std::size_t point = 0; point < m_ends.size(); ++point) {
        const std::size_t into = point / 2;
        if (point % 2 == 0) {
            m_ends[into] = m_ends[point];
            std::copy_n(m_points.begin() + static_cast<std::ptrdiff_t>(point * m_transfers), m_transfers,
                        m_points.begin() + static_cast<std::ptrdiff_t>(into * m_transfers));
            continue;
        }
        m_ends[into] = std::max(m_ends[into], m_ends[point]);
        for (std::size_t i = 0; i < m_transfers; ++i) {
            const TransferPoint& second = at(point, i);
            TransferPoint& sum = m_points[into * m_transfers + i];
            sum.count += second.count;
            sum.slowestNs = std::max(sum.slowestNs, second.slowestNs);
            sum.sumNs += second.sumNs;
            sum.bytes += second.bytes;
        }
    }
    m_ends.resize(after);
    m_points.resize(after * m_transfers);
    m_cell *= 2;
}

std::int64_t TransferSeries::durationNs(std::size_t point) const noexcept {
    const std::int64_t before = point == 0 ? m_setupEnd : m_ends[point - 1];
    return std::max<std::int64_t>(0, m_ends[point] - before);
}

std::string toCsv(const TransferSeries& series) {
    std::string out =
        csvLine({"edge", "kind", "iteration", "iterations", "copies", "slowest_ms", "total_ms", "bytes",
                 "gb_per_s", "bytes_per_s", "share_of_iteration_percent", "predicted_ms", "times"});
    const auto ms = [](double ns) { return fmt::format("{}", ns / 1e6); };
    for (std::size_t i = 0; i < series.plan().transfers.size(); ++i) {
        const Transfer& transfer = series.plan().transfers[i];
        for (std::size_t point = 0; point < series.size(); ++point) {
            const TransferPoint& sum = series.at(point, i);
            if (sum.count == 0) continue;
            const auto duration = static_cast<double>(series.durationNs(point));
            const auto bytes = static_cast<double>(sum.bytes);
            const auto perTime = [&](double amount) {
                return duration > 0 ? fmt::format("{}", amount / duration) : std::string();
            };
            out += csvLine({transfer.label, std::string(name(transfer.kind)),
                            std::to_string(point * series.cell()), std::to_string(series.cell()),
                            std::to_string(sum.count), ms(static_cast<double>(sum.slowestNs)),
                            ms(static_cast<double>(sum.sumNs)), std::to_string(sum.bytes),
                            sum.slowestNs > 0
                                ? fmt::format("{}", bytes / sum.count / static_cast<double>(sum.slowestNs))
                                : std::string(),
                            perTime(bytes * 1e9), perTime(100 * static_cast<double>(sum.sumNs)),
                            ms(transfer.predictedNs), transfer.modelled ? "modelled" : "measured"});
        }
    }
    return out;
}

} // namespace twb
