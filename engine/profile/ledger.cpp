#include "profile/ledger.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace twb {
namespace {

/// Values below 2 * 64 have a bucket each; above, every power of two has 64 equal buckets.
constexpr std::uint64_t kSubBuckets = 64;
constexpr int kSubBits = 6;

std::size_t bucketOf(std::uint64_t value) noexcept {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - 1 - kSubBits);
    return static_cast<std::size_t>(shift) * kSubBuckets + static_cast<std::size_t>(value >> shift);
}

/// The middle of a bucket's values.
double middleOf(std::size_t bucket) noexcept {
    if (bucket < 2 * kSubBuckets) return static_cast<double>(bucket);
    const std::size_t shift = bucket / kSubBuckets - 1;
    const double low = static_cast<double>(bucket - shift * kSubBuckets);
    return std::ldexp(low, static_cast<int>(shift)) + (std::ldexp(1.0, static_cast<int>(shift)) - 1) / 2;
}

} // namespace

void Histogram::add(std::int64_t value) noexcept {
    value = std::max<std::int64_t>(value, 0);
    m_least = m_count == 0 ? value : std::min(m_least, value);
    m_most = std::max(m_most, value);
    const std::size_t bucket = bucketOf(static_cast<std::uint64_t>(value));
    if (bucket >= m_buckets.size()) m_buckets.resize(bucket + 1);
    ++m_buckets[bucket];
    ++m_count;
}

double Histogram::quantile(double q) const noexcept {
    if (m_count == 0) return 0;
    // Nearest rank: the smallest value that is at least as large as a share q of all values.
    const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(m_count));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::size_t bucket = bucketOf(static_cast<std::uint64_t>(m_least)); // lower buckets are empty
    for (std::uint64_t seen = m_buckets[bucket]; seen < rank && bucket + 1 < m_buckets.size();
         seen += m_buckets[bucket])
        ++bucket;
    return std::clamp(middleOf(bucket), static_cast<double>(m_least), static_cast<double>(m_most));
}

double LedgerRow::gbPerSecond() const noexcept {
    if (count == 0) return 0;
    const double ns = medianNs();
    return ns > 0 ? static_cast<double>(bytes) / static_cast<double>(count) / ns : 0;
}

Ledger::Ledger(std::shared_ptr<const Plan> plan)
    : m_plan(std::move(plan)), m_rows(m_plan ? m_plan->transfers.size() : 0) {}

void Ledger::add(std::span<const StepRecord> records) {
    if (!m_plan) return;
    for (const StepRecord& record : records) {
        if (record.state != StepState::done) continue;
        const std::uint32_t transfer = m_plan->steps[record.step].transfer;
        if (transfer == kNone) continue;
        LedgerRow& row = m_rows[transfer];
        const std::int64_t ns = record.endNs - record.startNs;
        row.minNs = row.count == 0 ? ns : std::min(row.minNs, ns);
        ++row.count;
        row.bytes += record.bytes;
        row.lastNs = ns;
        row.totalNs += ns;
        row.waitNs += record.waitNs.value_or(0);
        if (record.waitNs) ++row.waited;
        row.times.add(ns);
    }
}

std::uint64_t Ledger::totalBytes() const noexcept {
    return std::accumulate(m_rows.begin(), m_rows.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const LedgerRow& row) { return sum + row.bytes; });
}

std::int64_t Ledger::totalNs() const noexcept {
    return std::accumulate(m_rows.begin(), m_rows.end(), std::int64_t{0},
                           [](std::int64_t sum, const LedgerRow& row) { return sum + row.totalNs; });
}

} // namespace twb
