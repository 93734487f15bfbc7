#include "widgets/run_figures.h"

#include <algorithm>

namespace twb {
namespace {

/// Points that the plot can draw in a frame, all edges together.
constexpr std::int64_t kPlotPoints = 60'000;
constexpr std::size_t kSampleLimit = 1'000'000;
constexpr std::size_t kTimelineRecords = 20'000;

} // namespace

RunFigures::RunFigures(std::shared_ptr<const Plan> plan, std::int64_t iterations)
    : m_plan(std::move(plan)), m_ledger(m_plan), m_steps(m_plan), m_open(m_plan->transfers.size()),
      m_isTouched(m_plan->steps.size()) {
    const auto edges = std::max<std::int64_t>(1, std::int64_t(m_plan->transfers.size()));
    const std::int64_t points = std::clamp<std::int64_t>(kPlotPoints / edges, 200, 2000);
    m_cell = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (iterations + points - 1) / points));
    for (std::uint32_t i = 0; i < m_open.size(); ++i) m_open[i].transfer = i;
}

void RunFigures::add(std::span<const StepRecord> records) {
    m_ledger.add(records);
    m_steps.add(records);
    for (const StepRecord& record : records) {
        if (!m_isTouched[record.step]) {
            m_isTouched[record.step] = true;
            m_touched.push_back(record.step);
        }
        if (record.state != StepState::done) continue;
        const Step& step = m_plan->steps[record.step];
        if (step.transfer != kNone) sample(record, step.transfer);
        remember(record);
    }
}

void RunFigures::sample(const StepRecord& record, std::uint32_t transfer) {
    TransferSample& open = m_open[transfer];
    const std::uint32_t cell = record.iteration / m_cell * m_cell;
    if (open.iteration != cell && open.ns > 0) {
        if (m_samples.size() >= kSampleLimit)
            m_samples.erase(m_samples.begin(),
                            m_samples.begin() + kSampleLimit / 2); // nobody looks at the plot
        m_samples.push_back(open);
        open.ns = 0;
    }
    open.iteration = cell;
    open.ns = std::max(open.ns, record.endNs - record.startNs);
}

void RunFigures::remember(const StepRecord& record) {
    Iteration& iteration = m_ring[record.iteration % m_ring.size()];
    if (iteration.number != record.iteration) {
        iteration.number = record.iteration;
        iteration.records.clear();
    }
    if (iteration.records.size() < kTimelineRecords) iteration.records.push_back(record);
}

std::vector<TransferSample> RunFigures::takeSamples() {
    std::vector<TransferSample> out = std::exchange(m_samples, {});
    // A cell of one iteration is complete as it comes; a wider one is shown as far as it is.
    for (TransferSample& open : m_open)
        if (open.ns > 0) out.push_back(open);
    if (m_cell == 1)
        for (TransferSample& open : m_open) open.ns = 0;
    return out;
}

std::vector<std::uint32_t> RunFigures::takeTouched() {
    for (const std::uint32_t step : m_touched) m_isTouched[step] = false;
    return std::exchange(m_touched, {});
}

std::vector<StepRecord> RunFigures::lastIterations() const {
    std::vector<const Iteration*> order;
    for (const Iteration& iteration : m_ring)
        if (!iteration.records.empty()) order.push_back(&iteration);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->number < b->number; });
    if (order.size() > 2) order.erase(order.begin(), order.end() - 2);
    std::vector<StepRecord> out;
    for (const Iteration* iteration : order)
        out.insert(out.end(), iteration->records.begin(), iteration->records.end());
    return out;
}

} // namespace twb
