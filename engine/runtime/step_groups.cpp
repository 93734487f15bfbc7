#include "runtime/step_groups.h"

namespace twb {

std::vector<std::uint32_t> soleReaders(const Plan& plan) {
    constexpr std::uint32_t many = kNone - 1;
    std::vector<std::uint32_t> readers(plan.values.size(), kNone);
    for (const Step& step : plan.steps)
        for (const std::uint32_t v : step.inputs)
            if (v != kNone) readers[v] = readers[v] == kNone || readers[v] == step.index ? step.index : many;
    for (std::uint32_t& reader : readers)
        if (reader == many) reader = kNone;
    // A fused launch runs at the place of its last step, so no update may come between two of its steps: an
    // earlier one may read the tensor before it changes.
    std::vector<std::uint32_t> before; // by step: the number of updates before it
    std::uint32_t count = 0;
    for (const Step& step : plan.steps) {
        before.push_back(count);
        count += step.op && !step.op->updates.empty() ? 1 : 0;
    }
    for (const Step& step : plan.steps)
        for (const std::uint32_t v : step.outputs)
            if (readers[v] != kNone && before[readers[v]] != before[step.index]) readers[v] = kNone;
    return readers;
}

bool isPlainLaunch(const Plan& plan, const Step& step) {
    if (!step.op || step.setup || step.dynamic || step.last || step.owner != kNone || step.outputs.empty() ||
        step.inputs.size() > kMaxChainInputs)
        return false;
    for (std::size_t port = 1; port < step.outputs.size(); ++port)
        if (!plan.values[step.outputs[port]].absent) return false;
    return true;
}

bool mayShareLaunch(const Plan& plan, const Step& step) {
    if (!isPlainLaunch(plan, step)) return false;
    const DType dtype = plan.values[step.outputs[0]].type.dtype;
    if (!isFloating(dtype)) return false;
    for (std::size_t port = 0; port < step.inputs.size(); ++port) {
        const std::uint32_t v = step.inputs[port];
        if (v == kNone) continue;
        if (step.op->inputAt(static_cast<int>(port)).hostValue || plan.values[v].type.dtype != dtype)
            return false;
    }
    return true;
}

bool isOnlyPassedOn(const PlanValue& value) { return !value.kept && !value.handedOn; }

} // namespace twb
