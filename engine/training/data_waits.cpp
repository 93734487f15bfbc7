#include "training/data_waits.h"

#include "core/busy_time.h"

#include <algorithm>
#include <utility>

namespace twb {

void DataWaits::started(std::uint64_t run, const Plan& plan, std::int64_t startNs) {
    if (m_next) m_next->started(run, plan, startNs);
    m_isData.assign(plan.steps.size(), false);
    for (const Step& step : plan.steps) {
        const std::uint32_t producer = step.transfer == kNone ? kNone : plan.producers[step.inputs[0]];
        m_isData[step.index] = step.ahead || (step.op && step.op->name == "Batches") ||
                               (producer != kNone && m_isData[producer]);
    }
}

void DataWaits::steps(std::uint64_t run, std::span<const StepRecord> records) {
    if (m_next) m_next->steps(run, records);
    for (const StepRecord& record : records)
        if (record.endNs > record.startNs)
            m_spans.push_back({record.startNs, record.endNs, m_isData[record.step]});
}

void DataWaits::progress(std::uint64_t run, std::int64_t done, std::int64_t total) {
    if (m_next) m_next->progress(run, done, total);
}

void DataWaits::finished(RunResult result) noexcept {
    if (m_next) m_next->finished(std::move(result));
}

std::int64_t DataWaits::waitNs() {
    std::ranges::sort(m_spans, {}, &Span::startNs);
    BusyTime any;
    BusyTime other;
    for (const Span& span : m_spans) {
        any.add(span.startNs, span.endNs);
        if (!span.isData) other.add(span.startNs, span.endNs);
    }
    return any.totalNs() - other.totalNs();
}

} // namespace twb
