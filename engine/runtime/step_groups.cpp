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
    return readers;
}

bool mayShareLaunch(const Plan& plan, const Step& step) {
    if (!step.op || step.setup || step.dynamic || step.last || step.owner != kNone ||
        step.outputs.size() != 1 || step.inputs.size() > kMaxChainInputs)
        return false;
    const DType dtype = plan.values[step.outputs[0]].type.dtype;
    if (!isFloating(dtype) || plan.streams[step.stream].device.isCpu()) return false;
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
