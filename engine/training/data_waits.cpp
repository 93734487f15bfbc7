#include "training/data_waits.h"

#include "core/busy_time.h"

#include <algorithm>

namespace twb {

void DataWaits::started(std::uint64_t, const Plan& plan) {
    m_isData.assign(plan.steps.size(), false);
    for (const Step& step : plan.steps) {
        const std::uint32_t producer = step.transfer == kNone ? kNone : plan.producers[step.inputs[0]];
        m_isData[step.index] = step.ahead || (step.op && step.op->name == "Batches") ||
                               (producer != kNone && m_isData[producer]);
    }
}

void DataWaits::steps(std::uint64_t, std::span<const StepRecord> records) {
    for (const StepRecord& record : records)
        if (record.endNs > record.startNs)
            m_spans.push_back({record.startNs, record.endNs, m_isData[record.step]});
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
