#include "widgets/run_figures.h"

#include <algorithm>
#include <utility>

namespace twb {

RunFigures::RunFigures(std::shared_ptr<const Plan> plan, std::vector<bool> isOfGraph)
    : m_plan(std::move(plan)), m_isOfGraph(std::move(isOfGraph)),
      m_isTransferOfGraph(m_plan->transfers.size(), m_isOfGraph.empty()), m_ledger(m_plan), m_steps(m_plan),
      m_timeline(m_plan), m_series(std::make_shared<TransferSeries>(m_plan)),
      m_isTouched(m_plan->steps.size()) {
    for (const Step& step : m_plan->steps)
        if (step.transfer != kNone && this->isOfGraph(step.index)) m_isTransferOfGraph[step.transfer] = true;
}

void RunFigures::add(std::span<const StepRecord> records) {
    m_ledger.add(records);
    m_steps.add(records);
    m_timeline.add(records);
    m_series->add(records);
    for (const StepRecord& record : records) {
        if (!m_isTouched[record.step]) {
            m_isTouched[record.step] = true;
            m_touched.push_back(record.step);
        }
        if (record.state == StepState::done) remember(record);
    }
}

void RunFigures::remember(const StepRecord& record) {
    if (m_recent.empty() || m_recent.back().number != record.iteration)
        m_recent.push_back({record.iteration, {}});
    while (m_remembered >= kMostRecords && m_recent.size() > 2) {
        m_remembered -= m_recent.front().records.size();
        m_recent.pop_front();
    }
    if (m_remembered >= kMostRecords) return;
    m_recent.back().records.push_back(record);
    ++m_remembered;
}

std::vector<std::uint32_t> RunFigures::takeTouched() {
    for (const std::uint32_t step : m_touched) m_isTouched[step] = false;
    return std::exchange(m_touched, {});
}

std::vector<StepRecord> RunFigures::recent(std::size_t iterations) const {
    std::vector<StepRecord> out;
    const std::size_t skipped = m_recent.size() - std::min(iterations, m_recent.size());
    for (std::size_t i = skipped; i < m_recent.size(); ++i)
        out.insert(out.end(), m_recent[i].records.begin(), m_recent[i].records.end());
    return out;
}

} // namespace twb
