#include "runtime/stretches.h"

#include <algorithm>

namespace twb {
namespace {

/// Whether the launch is the same in each iteration.
bool repeats(const Plan& plan, const Step& step) {
    if (!step.op || step.dynamic || step.last || step.op->readsIteration) return false;
    if (plan.streams[step.stream].device.isCpu()) return false;
    return std::all_of(step.inputs.begin(), step.inputs.end(), [&](std::uint32_t v) {
        if (v == kNone || !plan.values[v].device.isCpu()) return true;
        return plan.isConstant(v);
    });
}

} // namespace

std::vector<std::vector<std::uint32_t>> stretchesOf(const Plan& plan) {
    std::vector<std::vector<std::uint32_t>> found;
    if (!plan.controls.empty()) return found;
    std::vector<std::vector<std::uint32_t>> open(plan.streams.size());
    const auto close = [&](std::vector<std::uint32_t>& steps) {
        if (steps.size() > 1) found.push_back(std::move(steps));
        steps.clear();
    };
    for (const Step& step : plan.steps) {
        if (step.setup) continue;
        std::vector<std::uint32_t>& steps = open[step.stream];
        const bool isPart = repeats(plan, step);
        if (!isPart || !step.waits.empty() || !step.carriedWaits.empty()) close(steps);
        if (!isPart) continue;
        steps.push_back(step.index);
        if (step.recorded) close(steps);
    }
    for (std::vector<std::uint32_t>& steps : open) close(steps);
    return found;
}

} // namespace twb
