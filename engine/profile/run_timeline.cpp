#include "profile/run_timeline.h"

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr std::size_t kMostRecords = 20'000;

} // namespace

RunTimeline::RunTimeline(std::shared_ptr<const Plan> plan)
    : m_plan(std::move(plan)), m_overlapNs(m_plan ? m_plan->transfers.size() : 0) {}

void RunTimeline::add(std::span<const StepRecord> records) {
    if (!m_plan) return;
    for (const StepRecord& record : records) {
        const bool isDone = record.state == StepState::done;
        const bool isLost = record.state == StepState::failed || record.state == StepState::poisoned ||
                            record.state == StepState::cancelled;
        if (!isDone && !isLost) continue;
        if (m_plan->steps[record.step].setup) {
            if (!isDone) continue;
            m_clock = std::max(m_clock, record.endNs);
            if (m_setup.size() < kMostRecords) m_setup.push_back(record);
            continue;
        }
        if (m_index != record.iteration) {
            if (m_index >= 0) close();
            m_index = record.iteration;
        }
        m_now.isPart |= isLost;
        if (!isDone) continue;
        m_now.end = std::max(m_now.end, record.endNs);
        if (m_now.records.size() < kMostRecords)
            m_now.records.push_back(record);
        else
            ++m_now.leftOut;
    }
}

void RunTimeline::finish() {
    if (m_index < 0) return;
    close();
    countOverlaps(m_recent.back());
    const auto isWhole = [](const Iteration& iteration) { return !iteration.isPart; };
    const auto found = std::find_if(m_recent.rbegin(), m_recent.rend(), isWhole);
    const Iteration& whole = found == m_recent.rend() ? m_whole : *found;
    m_last = whole.records;
    m_leftOut = whole.leftOut;
    std::stable_sort(m_last.begin(), m_last.end(),
                     [](const StepRecord& a, const StepRecord& b) { return a.startNs < b.startNs; });
    m_index = -1;
}

/// m_now is complete. Several iterations may be in flight: only now are all steps known that ran during the
/// copies of the previous one, and a batch that is loaded ahead is copied during earlier ones.
void RunTimeline::close() {
    if (!m_now.isPart) {
        m_iterations.add(m_now.end - m_clock);
        m_clock = std::max(m_clock, m_now.end);
    }
    std::vector<Span> spans;
    for (const StepRecord& record : m_now.records) {
        // An If, Loop or Scan lasts as long as its body, whose steps have records of their own.
        const Step& step = m_plan->steps[record.step];
        if (step.transfer == kNone && step.control == kNone && record.endNs > record.startNs)
            spans.push_back({record.startNs, record.endNs});
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    for (const Span& span : spans) {
        if (!m_now.busy.empty() && span.start <= m_now.busy.back().end)
            m_now.busy.back().end = std::max(m_now.busy.back().end, span.end);
        else
            m_now.busy.push_back(span);
    }
    m_recent.push_back(std::exchange(m_now, {}));
    if (m_recent.size() > 1) countOverlaps(m_recent[m_recent.size() - 2]);
    if (m_recent.size() <= m_plan->inFlight + 1) return;
    if (!m_recent.front().isPart) m_whole = std::move(m_recent.front());
    m_recent.pop_front();
}

void RunTimeline::countOverlaps(const Iteration& iteration) {
    // Spans of several iterations may overlap; each moment counts once.
    std::vector<Span> parts;
    for (const StepRecord& record : iteration.records) {
        const std::uint32_t transfer = m_plan->steps[record.step].transfer;
        if (transfer == kNone) continue;
        parts.clear();
        for (const Iteration& other : m_recent) {
            const auto from =
                std::partition_point(other.busy.begin(), other.busy.end(),
                                     [&](const Span& span) { return span.end <= record.startNs; });
            for (auto span = from; span != other.busy.end() && span->start < record.endNs; ++span)
                parts.push_back({std::max(span->start, record.startNs), std::min(span->end, record.endNs)});
        }
        std::sort(parts.begin(), parts.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
        std::int64_t reached = record.startNs;
        for (const Span& part : parts) {
            const std::int64_t start = std::max(part.start, reached);
            if (part.end > start) m_overlapNs[transfer] += part.end - start;
            reached = std::max(reached, part.end);
        }
    }
}

} // namespace twb
