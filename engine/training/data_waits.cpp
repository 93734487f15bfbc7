#include "training/data_waits.h"

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
    // Between two neighbouring moments the same steps run.
    std::vector<std::pair<std::int64_t, std::pair<int, int>>> moments; // with the change of both counts
    for (const Span& span : m_spans) {
        const std::pair<int, int> change = span.isData ? std::pair(1, 0) : std::pair(0, 1);
        moments.emplace_back(span.startNs, change);
        moments.emplace_back(span.endNs, std::pair(-change.first, -change.second));
    }
    std::ranges::sort(moments, {}, [](const auto& moment) { return moment.first; });
    std::int64_t out = 0;
    std::int64_t before = 0;
    int data = 0;
    int other = 0;
    for (const auto& [now, change] : moments) {
        if (data > 0 && other == 0) out += now - before;
        data += change.first;
        other += change.second;
        before = now;
    }
    return out;
}

} // namespace twb
