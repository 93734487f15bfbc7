#include "profile/run_course.h"

#include <algorithm>
#include <numeric>

namespace twb {
namespace {

/// The records by their start.
std::vector<std::uint32_t> orderOf(std::span<const StepRecord> records) {
    std::vector<std::uint32_t> order(records.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return records[a].startNs < records[b].startNs;
    });
    return order;
}

/// By record: the previous record on the same stream. Steps of bodies, which run beside their control op, do
/// not count.
std::vector<std::uint32_t> previousOnStreams(const Plan& plan, std::span<const StepRecord> records,
                                             const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> last(plan.streams.size(), kNone);
    std::vector<std::uint32_t> before(records.size(), kNone);
    for (const std::uint32_t at : order) {
        std::uint32_t& previous = last[plan.steps[records[at].step].stream];
        if (previous != kNone && records[previous].endNs <= records[at].startNs) before[at] = previous;
        if (previous == kNone || records[previous].endNs <= records[at].endNs) previous = at;
    }
    return before;
}

/// The critical path of the last iteration, found from its end to its start. An If, Loop or Scan counts as
/// the steps of its bodies: only the time between these is its own. Ends for any records, also contradictory
/// ones.
class CriticalPath {
public:
    CriticalPath(const Plan& plan, std::span<const StepRecord> records, RunCourse& course);
    void find();

private:
    const Step& stepOf(std::uint32_t at) const { return m_plan.steps[m_records[at].step]; }
    std::uint32_t latestInside(std::uint32_t control, std::uint32_t before) const;
    std::uint32_t recordOf(std::uint32_t control, std::uint32_t inner) const;
    std::uint32_t predecessor(std::uint32_t at, std::uint32_t around) const;
    void count(std::uint32_t at);
    bool endsBefore(std::uint32_t a, std::uint32_t b) const {
        return std::pair(m_records[a].endNs, a) < std::pair(m_records[b].endNs, b);
    }

    const Plan& m_plan;
    const std::span<const StepRecord> m_records;
    RunCourse& m_course;
    std::vector<std::uint32_t> m_run;                   ///< by record: number of the run of its body
    std::vector<std::vector<std::uint32_t>> m_inside;   ///< by control: records of its bodies, by their end
    std::vector<std::vector<std::uint32_t>> m_controls; ///< by control: its own records, by their start
    std::uint32_t m_first = 0;                          ///< of the last iteration
};

CriticalPath::CriticalPath(const Plan& plan, std::span<const StepRecord> records, RunCourse& course)
    : m_plan(plan), m_records(records), m_course(course), m_run(records.size()),
      m_inside(plan.controls.size()), m_controls(plan.controls.size()),
      m_first(static_cast<std::uint32_t>(records.size())) {
    while (m_first > 0 && records[m_first - 1].iteration == records.back().iteration) --m_first;
    for (std::uint32_t at = m_first; at < records.size(); ++at) {
        const Step& step = stepOf(at);
        if (step.control != kNone) m_controls[step.control].push_back(at);
        if (step.owner == kNone) continue;
        // The steps of a run of a body are reported in their order.
        auto& inside = m_inside[step.owner];
        if (!inside.empty())
            m_run[at] = m_run[inside.back()] + (records[inside.back()].step >= step.index ? 1 : 0);
        inside.push_back(at);
    }
    for (auto& inside : m_inside)
        std::ranges::sort(inside, [this](std::uint32_t a, std::uint32_t b) { return endsBefore(a, b); });
    for (auto& own : m_controls)
        std::ranges::stable_sort(own, {}, [&](auto at) { return records[at].startNs; });
}

/// The last step of the bodies of the control with record `control` that ended before the record `before`
/// began, or, if that is the control itself, before it ended.
std::uint32_t CriticalPath::latestInside(std::uint32_t control, std::uint32_t before) const {
    const std::uint32_t index = stepOf(control).control;
    if (index == kNone) return kNone;
    const auto& inside = m_inside[index];
    const bool isLast = before == control;
    const std::int64_t limit = isLast ? m_records[control].endNs : m_records[before].startNs;
    auto next = std::ranges::partition_point(inside, [&](std::uint32_t at) {
        return m_records[at].endNs <= limit && (isLast || endsBefore(at, before));
    });
    if (next == inside.begin()) return kNone;
    const std::uint32_t found = *std::prev(next);
    return m_records[found].startNs >= m_records[control].startNs ? found : kNone;
}

/// The record of a control during which the step of one of its bodies ran.
std::uint32_t CriticalPath::recordOf(std::uint32_t control, std::uint32_t inner) const {
    const auto& own = m_controls[control];
    const auto next = std::ranges::upper_bound(own, m_records[inner].startNs, {},
                                               [this](std::uint32_t at) { return m_records[at].startNs; });
    if (next == own.begin() || m_records[*std::prev(next)].endNs < m_records[inner].endNs) return kNone;
    return *std::prev(next);
}

/// The record for which `at` waited, among those of the same body: `around` is the record of its control, or
/// kNone. All streams are idle before a run of a body, so its first steps wait for the end of the run before.
std::uint32_t CriticalPath::predecessor(std::uint32_t at, std::uint32_t around) const {
    const std::uint32_t scope = around == kNone ? kNone : stepOf(around).control;
    std::uint32_t found = m_course.after[at];
    // A step after a control can follow a step of its body in a stream: it waited for the control.
    for (std::size_t level = 0; found != kNone && stepOf(found).owner != scope; ++level) {
        const std::uint32_t owner = stepOf(found).owner;
        found =
            owner == kNone || found < m_first || level > m_controls.size() ? kNone : recordOf(owner, found);
    }
    if (found != kNone && (found < m_first || stepOf(found).setup)) found = kNone;
    if (around == kNone) return found;
    const bool isSameRun =
        found != kNone && m_run[found] == m_run[at] && m_records[found].startNs >= m_records[around].startNs;
    return isSameRun ? found : latestInside(around, at);
}

void CriticalPath::count(std::uint32_t at) {
    const StepRecord& record = m_records[at];
    const Step& step = stepOf(at);
    const auto ns = static_cast<double>(record.endNs - record.startNs);
    if (step.transfer != kNone) {
        m_course.transferNs += ns;
        return;
    }
    const DeviceProfile& profile = m_plan.devices.at(m_plan.streams[step.stream].device).profile();
    const double launch = std::min(ns, profile.launchUs * 1e3);
    m_course.overheadNs += launch;
    m_course.computeNs += ns - launch;
}

void CriticalPath::find() {
    std::uint32_t at = kNone;
    for (auto i = static_cast<std::uint32_t>(m_records.size()); i-- > m_first;)
        if (!stepOf(i).setup && stepOf(i).owner == kNone &&
            (at == kNone || m_records[i].endNs > m_records[at].endNs))
            at = i;
    if (at == kNone) return;
    std::int64_t known = m_records[at].endNs; // the path is known from here on
    std::vector<bool> isOnPath(m_records.size(), false);
    std::vector<std::uint32_t> around; // the controls in whose bodies the path is
    const auto outer = [&] { return around.empty() ? kNone : around.back(); };
    while (at != kNone || !around.empty()) {
        if (at == kNone || isOnPath[at]) { // the start of a control
            if (around.empty()) break;
            const std::uint32_t control = around.back();
            around.pop_back();
            m_course.waitNs += static_cast<double>(known - m_records[control].startNs);
            known = m_records[control].startNs;
            at = predecessor(control, outer());
            continue;
        }
        isOnPath[at] = true;
        m_course.critical.push_back(at);
        m_course.waitNs += static_cast<double>(known - m_records[at].endNs);
        if (const std::uint32_t inside = latestInside(at, at); inside != kNone && !isOnPath[inside]) {
            around.push_back(at);
            known = m_records[at].endNs;
            at = inside;
            continue;
        }
        count(at);
        known = m_records[at].startNs;
        at = predecessor(at, outer());
    }
    std::ranges::reverse(m_course.critical);
    m_course.lengthNs = m_course.computeNs + m_course.transferNs + m_course.overheadNs + m_course.waitNs;
}

} // namespace

std::vector<TensorFlow> flowsOf(const Plan& plan, std::span<const StepRecord> records) {
    std::vector<std::uint32_t> makerOf(plan.values.size(), kNone);
    std::vector<std::vector<std::uint32_t>> transfersInto(plan.steps.size());
    for (const Step& step : plan.steps) {
        for (const std::uint32_t value : step.inputs)
            if (value != kNone && makerOf[value] != kNone && plan.steps[makerOf[value]].transfer != kNone)
                transfersInto[step.index].push_back(makerOf[value]);
        for (const std::uint32_t value : step.outputs)
            if (value != kNone) makerOf[value] = step.index;
    }

    std::vector<std::uint32_t> latest(plan.steps.size(), kNone);
    /// The record of `step` whose result an event of `iteration` saw.
    const auto seen = [&](std::uint32_t step, std::uint32_t iteration) {
        const std::uint32_t at = step == kNone ? kNone : latest[step];
        return at != kNone && (plan.steps[step].setup || records[at].iteration == iteration) ? at : kNone;
    };
    std::vector<TensorFlow> flows;
    for (std::uint32_t at = 0; at < records.size(); ++at) {
        const StepRecord& record = records[at];
        for (const std::uint32_t transfer : transfersInto[record.step]) {
            if (plan.steps[transfer].setup && latest[transfer] != kNone &&
                record.iteration > records[latest[transfer]].iteration)
                continue;
            const std::vector<std::uint32_t>& moved = plan.steps[transfer].inputs;
            const std::uint32_t maker =
                moved.empty() || moved.front() == kNone ? kNone : makerOf[moved.front()];
            const TensorFlow flow{seen(maker, record.iteration), seen(transfer, record.iteration), at};
            if (flow.producer != kNone && flow.transfer != kNone) flows.push_back(flow);
        }
        latest[record.step] = at;
    }
    return flows;
}

RunCourse courseOf(const Plan& plan, std::span<const StepRecord> records) {
    RunCourse course;
    const std::vector<std::uint32_t> order = orderOf(records);
    course.before = previousOnStreams(plan, records, order);
    course.after = course.before;
    std::vector<std::uint32_t> place(records.size()); // in that order
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<std::uint32_t> now(plan.steps.size(), kNone);     // of this iteration
    std::vector<std::uint32_t> earlier(plan.steps.size(), kNone); // of the previous one
    std::size_t from = 0;
    while (from < records.size()) {
        std::size_t to = from;
        while (to < records.size() && records[to].iteration == records[from].iteration) ++to;
        for (std::size_t at = from; at < to; ++at) {
            std::uint32_t& after = course.after[at];
            const auto consider = [&](std::uint32_t other) {
                // Of steps without a duration, each may end as the other starts; only the first counts.
                if (other == kNone || records[other].endNs > records[at].startNs || place[other] >= place[at])
                    return;
                if (after == kNone || records[other].endNs > records[after].endNs) after = other;
            };
            const Step& step = plan.steps[records[at].step];
            for (const std::uint32_t other : step.waits) consider(now[other]);
            for (const std::uint32_t other : step.carriedWaits) consider(earlier[other]);
            now[step.index] = static_cast<std::uint32_t>(at); // a step of a body runs several times
        }
        for (std::size_t at = from; at < to; ++at) earlier[records[at].step] = now[records[at].step];
        from = to;
    }
    CriticalPath(plan, records, course).find();
    return course;
}

} // namespace twb
