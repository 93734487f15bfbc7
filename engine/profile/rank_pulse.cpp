#include "profile/rank_pulse.h"

#include "backends/mpi_world.h"

#include <algorithm>
#include <limits>

namespace twb {

void RankPulse::setNode(std::string_view node) noexcept {
    m_nodeVersion.fetch_add(1, std::memory_order_acq_rel);
    const std::size_t length = std::min(node.size(), m_node.size() - 1);
    for (std::size_t i = 0; i < length; ++i) m_node[i].store(node[i], std::memory_order_relaxed);
    m_node[length].store(0, std::memory_order_relaxed);
    m_nodeVersion.fetch_add(1, std::memory_order_release);
}

std::string RankPulse::node() const {
    constexpr int tries = 100; // a rank that was killed while it wrote leaves an odd version
    std::string out;
    for (int i = 0; i < tries; ++i) {
        out.clear();
        const std::uint32_t before = m_nodeVersion.load(std::memory_order_acquire);
        for (const std::atomic<char>& one : m_node) {
            const char letter = one.load(std::memory_order_relaxed);
            if (letter == 0) break;
            out += letter;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before % 2 == 0 && before == m_nodeVersion.load(std::memory_order_relaxed)) break;
    }
    return out;
}

RankFigures RankPulse::figures() const noexcept {
    const std::uint64_t iterations = m_iterations.load(std::memory_order_acquire);
    return {iterations, m_iterationNs, m_rows, m_isModelled};
}

RankPulseWriter::RankPulseWriter(RankPulse& pulse, const Plan& plan)
    : m_pulse(pulse), m_callOf(plan.steps.size(), kNone), m_isSetup(plan.steps.size()) {
    std::uint32_t calls = 0;
    for (const Step& step : plan.steps) {
        m_isSetup[step.index] = step.setup;
        const auto kind = step.op ? collectiveKindOf(step.op->name) : std::nullopt;
        const bool isOfAll = plan.isCollective(step) && !(kind && isPaired(*kind));
        if (isOfAll && !step.setup) m_callOf[step.index] = calls++;
    }
    m_pulse.m_callsEach = calls;
    m_pulse.m_isModelled = plan.virtualClock;
    m_pulse.m_rows = rowsOfBatch(plan);
}

void RankPulseWriter::add(std::span<const StepRecord> records) {
    const std::uint64_t callsEach = m_pulse.m_callsEach.load(std::memory_order_relaxed);
    for (const StepRecord& record : records) {
        if (record.state != StepState::done || m_isSetup[record.step]) continue;
        if (m_marks.empty()) m_marks.push_back({0, record.startNs});
        if (m_marks.back().iterations == 0)
            m_marks.front().endNs = std::min(m_marks.front().endNs, record.startNs);
        m_endNs = std::max(m_endNs, record.endNs);
        if (m_callOf[record.step] == kNone) continue;
        const std::uint64_t number = record.iteration * callsEach + m_callOf[record.step] + 1;
        RankPulse::Call& call = m_pulse.m_calls[number % RankPulse::kCalls];
        call.number.store(0, std::memory_order_release); // a reader must not take the old one for the new
        call.arrival.store(m_startedNs + record.startNs, std::memory_order_release);
        call.number.store(number, std::memory_order_release);
    }
}

void RankPulseWriter::progress(std::int64_t done) {
    if (m_marks.empty() || done <= m_marks.back().iterations) return;
    m_marks.push_back({done, m_endNs});
    if (m_marks.size() > kPace + 1) m_marks.pop_front();
    const Mark& first = m_marks.front();
    m_pulse.m_iterationNs =
        static_cast<double>(m_endNs - first.endNs) / static_cast<double>(done - first.iterations);
    m_pulse.m_iterations.store(static_cast<std::uint64_t>(done), std::memory_order_release);
}

LiveRank liveRank(std::string_view node, const RankFigures& figures) {
    LiveRank out;
    out.node = node;
    out.isKnown = figures.iterations > 0;
    out.pace.iterations = static_cast<double>(figures.iterations);
    out.pace.iterationNs = figures.iterationNs;
    out.pace.isModelled = figures.isModelled;
    if (figures.iterationNs > 0) out.pace.samplesPerSecond = figures.rows / figures.iterationNs * 1e9;
    return out;
}

std::vector<LiveRank> liveRanks(std::span<const RankPulse* const> ranks) {
    std::vector<LiveRank> out(ranks.size());
    std::uint64_t common = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t callsEach = 0;
    bool areComparable = !ranks.empty();
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const RankPulse* pulse = ranks[r];
        if (!pulse) {
            areComparable = false;
            continue;
        }
        const RankFigures figures = pulse->figures();
        common = std::min(common, figures.iterations);
        LiveRank& rank = out[r] = liveRank(pulse->node(), figures);
        callsEach = std::max<std::uint64_t>(callsEach, pulse->m_callsEach);
        areComparable = areComparable && !rank.pace.isModelled;
    }
    if (!areComparable || common == 0) return out;
    // A rank may be some iterations ahead and then writes over the calls of old ones.
    const std::uint64_t most = callsEach == 0 ? 0 : RankPulse::kCalls / 2 / callsEach;
    if (callsEach > 0 && most == 0) return out;
    constexpr std::uint64_t enough = 32;
    const std::uint64_t window = std::min({common, most, enough});
    std::vector<std::int64_t> waited(ranks.size());
    std::vector<std::int64_t> arrivals(ranks.size());
    std::uint64_t counted = 0;
    for (std::uint64_t i = (common - window) * callsEach; i < common * callsEach && callsEach > 0; ++i) {
        bool isWhole = true;
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const RankPulse::Call& call = ranks[r]->m_calls[(i + 1) % RankPulse::kCalls];
            isWhole = isWhole && call.number.load(std::memory_order_acquire) == i + 1;
            arrivals[r] = call.arrival.load(std::memory_order_acquire);
            isWhole = isWhole && call.number.load(std::memory_order_relaxed) == i + 1;
        }
        if (!isWhole) continue;
        ++counted;
        const std::int64_t last = *std::ranges::max_element(arrivals);
        for (std::size_t r = 0; r < ranks.size(); ++r) waited[r] += last - arrivals[r];
    }
    if (callsEach > 0 && counted == 0) return out;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        out[r].hasWait = true;
        if (counted > 0)
            out[r].pace.waitNs = static_cast<double>(waited[r]) * static_cast<double>(callsEach) /
                                 static_cast<double>(counted);
    }
    return out;
}

std::vector<LiveRank> endedRanks(const std::vector<RankPace>& ranks) {
    std::vector<LiveRank> out;
    for (const RankPace& rank : ranks) out.push_back({rank, {}, true, !RankReport::isModelled(ranks)});
    return out;
}

int slowestOf(const std::vector<LiveRank>& ranks) noexcept {
    if (!std::ranges::all_of(ranks, &LiveRank::hasWait)) return -1;
    const auto slowest =
        std::ranges::max_element(ranks, {}, [](const LiveRank& rank) { return rank.pace.ownNs(); });
    return slowest == ranks.end() ? -1 : static_cast<int>(slowest - ranks.begin());
}

} // namespace twb
