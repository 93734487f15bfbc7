#include "core/error.h"
#include "runtime/compiler.h"
#include "runtime/step_groups.h"

namespace twb {
namespace {

std::shared_ptr<const OpChain> chainOf(const Plan& plan, const StepGroup& group) {
    auto chain = std::make_shared<OpChain>();
    chain->kind = group.kind;
    chain->inputs = group.inputs.size();
    std::map<std::uint32_t, std::size_t> operands; // by value
    for (std::size_t i = 0; i < group.inputs.size(); ++i) operands[group.inputs[i]] = i;
    for (const std::uint32_t index : group.steps) {
        const Step& step = plan.steps[index];
        OpChain::Member member{step.op->name, step.attributes, {}, step.op->kernel};
        for (const std::uint32_t v : step.inputs)
            if (v != kNone) member.operands.push_back(operands.at(v));
        operands[step.outputs[0]] = chain->inputs + chain->members.size();
        chain->members.push_back(std::move(member));
    }
    return chain;
}

/// An op entry for a chain: the names of its ops, and ports for its inputs. A pointwise chain may overwrite
/// any input, a product those that its first op may.
std::shared_ptr<const Op> opOf(const OpChain& chain) {
    const bool isPointwise = chain.kind == OpChain::Kind::pointwise;
    auto op = std::make_shared<Op>();
    for (const OpChain::Member& member : chain.members) op->name += (op->name.empty() ? "" : "+") + member.op;
    op->elementwise = isPointwise;
    const Op& first = *findOp(chain.members[0].op);
    op->channelsLast = isPointwise ? ChannelsLast::pointwise : first.channelsLast;
    if (!isPointwise)
        for (const int port : first.inPlace)
            op->inPlace.push_back(
                static_cast<int>(chain.members[0].operands[static_cast<std::size_t>(port)]));
    for (std::size_t i = 0; i < chain.inputs; ++i) {
        op->inputs.emplace_back();
        if (isPointwise) op->inPlace.push_back(static_cast<int>(i));
    }
    op->outputs.emplace_back();
    return op;
}

/// The last step of each group represents the group; the others are removed.
void mergeInto(Plan& plan, const StepGroup& group, std::vector<bool>& isGone) {
    auto chain = chainOf(plan, group);
    Step& last = plan.steps[group.steps.back()];
    std::string label;
    double flops = 0;
    double bytes = 0;
    for (const std::uint32_t index : group.steps) {
        Step& step = plan.steps[index];
        label += (label.empty() ? "" : ", ") + step.label;
        flops += step.cost.flops;
        last.members.push_back(step.node);
        if (index == last.index) continue;
        isGone[index] = true;
        plan.values[step.outputs[0]].absent = true;
    }
    for (const std::uint32_t v : group.inputs) bytes += static_cast<double>(plan.values[v].type.byteCount());
    bytes += static_cast<double>(plan.values[last.outputs[0]].type.byteCount());
    plan.chainOps.push_back(opOf(*chain));
    last.op = plan.chainOps.back().get();
    last.attributes = {};
    last.inputs = group.inputs;
    last.label = std::move(label);
    last.cost.flops = flops;
    last.cost.bytes = bytes;
    // That of a product, which comes first, since its ends may have another.
    last.cost.dtype = plan.steps[group.steps.front()].cost.dtype;
    last.predictedNs = plan.devices.at(plan.streams[last.stream].device).profile().kernelNs(last.cost);
    last.chain = std::move(chain);
}

} // namespace

/// Fuses steps whose intermediate results have no other consumer and are not kept, if the backend supports
/// it: products with their epilogues, then chains of pointwise ops. Plans with bodies are unchanged, since
/// bodies are ranges of steps.
void Compiler::fuseChains() {
    if (!m_plan->controls.empty()) return;
    const std::vector<std::uint32_t> readers = soleReaders(*m_plan);
    std::vector<StepGroup> groups = productGroups(*m_plan, readers, m_options.fuseOnCpu);
    std::vector<bool> isTaken(m_plan->steps.size(), false);
    for (const StepGroup& group : groups)
        for (const std::uint32_t step : group.steps) isTaken[step] = true;
    for (StepGroup& group : pointwiseGroups(*m_plan, readers, isTaken, m_options.fuseOnCpu))
        groups.push_back(std::move(group));
    if (groups.empty()) return;
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const StepGroup& group : groups) mergeInto(*m_plan, group, isGone);
    dropSteps(isGone);
}

/// Removes steps that were merged into others, and renumbers the rest.
void Compiler::dropSteps(const std::vector<bool>& isGone) {
    std::vector<Step> steps;
    std::vector<bool> blocking;
    for (Step& step : m_plan->steps) {
        if (isGone[step.index]) continue;
        blocking.push_back(m_blocking[step.index]);
        step.index = static_cast<std::uint32_t>(steps.size());
        steps.push_back(std::move(step));
    }
    m_plan->steps = std::move(steps);
    m_blocking = std::move(blocking);
}

} // namespace twb
