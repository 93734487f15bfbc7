#include "profile/report.h"

namespace twb {

StepTimes::StepTimes(std::shared_ptr<const Plan> plan)
    : m_plan(std::move(plan)), m_rows(m_plan ? m_plan->steps.size() : 0) {
    // A step in a body is reported only if the body runs.
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (m_plan->steps[i].owner != kNone) m_rows[i].state = StepState::skipped;
}

void StepTimes::add(std::span<const StepRecord> records) {
    if (!m_plan) return;
    for (const StepRecord& record : records) {
        Row& row = m_rows[record.step];
        row.state = record.state;
        if (record.state != StepState::done) continue;
        const std::int64_t ns = record.endNs - record.startNs;
        ++row.count;
        row.lastNs = ns;
        row.totalNs += ns;
        row.times.add(ns);
    }
}

} // namespace twb
