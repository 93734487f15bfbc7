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

void findCriticalPath(const Plan& plan, std::span<const StepRecord> records, RunCourse& course) {
    if (records.empty()) return;
    const std::uint32_t iteration = records.back().iteration;
    const auto belongs = [&](std::uint32_t at) {
        return at != kNone && records[at].iteration == iteration && !plan.steps[records[at].step].setup;
    };
    std::uint32_t at = kNone;
    for (auto i = static_cast<std::uint32_t>(records.size()); i-- > 0 && records[i].iteration == iteration;)
        if (belongs(i) && (at == kNone || records[i].endNs > records[at].endNs)) at = i;
    for (; at != kNone; at = course.after[at]) {
        course.critical.push_back(at);
        const StepRecord& record = records[at];
        const Step& step = plan.steps[record.step];
        const auto ns = static_cast<double>(record.endNs - record.startNs);
        if (step.transfer != kNone) {
            course.transferNs += ns;
        } else {
            const DeviceProfile& profile = plan.devices.at(plan.streams[step.stream].device).profile();
            const double launch = std::min(ns, profile.launchUs * 1e3);
            course.overheadNs += launch;
            course.computeNs += ns - launch;
        }
        if (!belongs(course.after[at])) break;
        course.waitNs += static_cast<double>(record.startNs - records[course.after[at]].endNs);
    }
    std::reverse(course.critical.begin(), course.critical.end());
    course.lengthNs = course.computeNs + course.transferNs + course.overheadNs + course.waitNs;
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
        for (; to < records.size() && records[to].iteration == records[from].iteration; ++to)
            now[records[to].step] = static_cast<std::uint32_t>(to);
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
        }
        for (std::size_t at = from; at < to; ++at) earlier[records[at].step] = now[records[at].step];
        from = to;
    }
    findCriticalPath(plan, records, course);
    return course;
}

} // namespace twb
