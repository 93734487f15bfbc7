#include "widgets/panels/timeline_model.h"

#include <algorithm>
#include <limits>
#include <map>

namespace twb {
namespace {

/// By step: the number of nested bodies around it.
std::vector<int> depthsOf(const Plan& plan) {
    std::vector<std::uint32_t> stepOf(plan.controls.size(), kNone);
    for (const Step& step : plan.steps)
        if (step.control != kNone) stepOf[step.control] = step.index;
    std::vector<int> depths(plan.steps.size());
    for (const Step& step : plan.steps) {
        std::uint32_t owner = step.owner;
        while (owner != kNone) {
            ++depths[step.index];
            owner = stepOf[owner] == kNone ? kNone : plan.steps[stepOf[owner]].owner;
        }
    }
    return depths;
}

} // namespace

TimelineModel::TimelineModel(std::shared_ptr<const Plan> plan, std::vector<StepRecord> records)
    : m_plan(std::move(plan)), m_records(std::move(records)), m_rows(m_plan->streams.size(), -1) {
    if (m_records.empty()) return;
    m_course = courseOf(*m_plan, m_records);
    m_flows = flowsOf(*m_plan, m_records);
    m_isCritical.resize(m_records.size());
    for (const std::uint32_t record : m_course.critical) m_isCritical[record] = true;

    std::vector<bool> isUsed(m_plan->streams.size());
    m_first = std::numeric_limits<std::int64_t>::max();
    for (const StepRecord& record : m_records) {
        isUsed[m_plan->steps[record.step].stream] = true;
        m_first = std::min(m_first, record.startNs);
    }
    for (std::uint32_t stream = 0; stream < isUsed.size(); ++stream) {
        if (!isUsed[stream]) continue;
        m_rows[stream] = int(m_streams.size());
        m_streams.push_back(stream);
    }
    const std::vector<int> depths = depthsOf(*m_plan);
    std::map<std::pair<int, int>, std::size_t> layerOf;
    for (std::uint32_t i = 0; i < m_records.size(); ++i) {
        const std::pair key(depths[m_records[i].step], rowOf(i));
        const auto [at, isNew] = layerOf.try_emplace(key, m_layers.size());
        if (isNew) m_layers.push_back({key.second, key.first, {}});
        m_layers[at->second].bars.push_back({startOf(i), endOf(i), i});
        m_length = std::max(m_length, endOf(i));
    }
    std::stable_sort(m_flows.begin(), m_flows.end(), [this](const TensorFlow& a, const TensorFlow& b) {
        return m_records[a.transfer].startNs < m_records[b.transfer].startNs;
    });
    for (const TensorFlow& flow : m_flows)
        m_longestCopy = std::max(m_longestCopy, endOf(flow.transfer) - startOf(flow.transfer));
    for (Layer& layer : m_layers)
        std::stable_sort(layer.bars.begin(), layer.bars.end(),
                         [](const Bar& a, const Bar& b) { return a.start < b.start; });
    std::stable_sort(m_layers.begin(), m_layers.end(),
                     [](const Layer& a, const Layer& b) { return a.depth < b.depth; });
}

int TimelineModel::rowOf(std::uint32_t record) const {
    return m_rows[m_plan->steps[m_records[record].step].stream];
}

double TimelineModel::startOfLast(std::uint32_t iterations) const {
    if (m_records.empty()) return 0;
    const std::uint32_t last = m_records.back().iteration;
    const std::uint32_t wanted = last + 1 > iterations ? last + 1 - iterations : 0;
    const auto from = std::partition_point(m_records.begin(), m_records.end(),
                                           [&](const StepRecord& r) { return r.iteration < wanted; });
    double start = m_length;
    for (auto record = from; record != m_records.end(); ++record)
        start = std::min(start, double(record->startNs - m_first));
    return start;
}

std::vector<TimelineModel::Shown> TimelineModel::shown(const Layer& layer, double from, double to,
                                                       double least) const {
    std::vector<Shown> out;
    const auto startsBefore = [](const Bar& bar, double ns) { return bar.start < ns; };
    auto bar = std::partition_point(layer.bars.begin(), layer.bars.end(),
                                    [&](const Bar& b) { return b.end < from; });
    while (bar != layer.bars.end() && bar->start <= to) {
        if (bar->end - bar->start >= least) {
            out.push_back({bar->start, bar->end, bar->record, 1});
            ++bar;
            continue;
        }
        // Too narrow to be drawn separately: merges all bars that start and end within `least`.
        const auto next =
            std::max(bar + 1, std::lower_bound(bar, layer.bars.end(), bar->start + least, startsBefore));
        auto last = next - 1;
        std::size_t count = std::size_t(next - bar);
        if (last != bar && last->end - last->start >= least) {
            --last;
            --count;
        }
        out.push_back({bar->start, std::max(last->end, bar->end), bar->record, count});
        bar = last + 1;
    }
    return out;
}

std::span<const TensorFlow> TimelineModel::flows(double from, double to) const {
    const auto first = std::partition_point(m_flows.begin(), m_flows.end(), [&](const TensorFlow& flow) {
        return startOf(flow.transfer) < from - m_longestCopy;
    });
    const auto last = std::partition_point(
        first, m_flows.end(), [&](const TensorFlow& flow) { return startOf(flow.transfer) <= to; });
    return {first, last};
}

std::uint32_t TimelineModel::at(int row, double ns, double reach) const {
    std::uint32_t found = kNone;
    int depth = -1;
    for (const Layer& layer : m_layers) {
        if (layer.row != row || layer.depth < depth) continue;
        const auto bar = std::partition_point(layer.bars.begin(), layer.bars.end(),
                                              [&](const Bar& b) { return b.end < ns - reach; });
        if (bar == layer.bars.end() || bar->start > ns + reach) continue;
        // Of two close bars, takes the one under the pointer.
        const bool isNextNearer = bar + 1 != layer.bars.end() && bar->end < ns &&
                                  (bar + 1)->start <= ns + reach && (bar + 1)->start - ns < ns - bar->end;
        found = isNextNearer ? (bar + 1)->record : bar->record;
        depth = layer.depth;
    }
    return found;
}

} // namespace twb
