#include "ops/joined_normalization.h"
#include "runtime/compiler.h"
#include "runtime/followed_steps.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

/// A Concat of channels, a BatchNormalization with given statistics and, optionally, a Relu, as before each
/// layer of a DenseNet.
std::optional<std::vector<std::uint32_t>> joinAt(const Plan& plan, const FollowedSteps& steps,
                                                 const Step& concat) {
    constexpr std::size_t kMostInputs = 60; // of which a step knows the constants
    if (!steps.isOn(concat, "Concat") || concat.inputs.size() < 2 || concat.inputs.size() > kMostInputs)
        return std::nullopt;
    const TensorType& joined = steps.typeOf(concat.outputs[0]);
    const std::int64_t axis = concat.attributes.integer("axis");
    if (joined.dtype != DType::f32 || joined.shape.rank() < 2 ||
        (axis != 1 && axis != 1 - joined.shape.rank()) || std::ranges::count(concat.inputs, kNone) > 0)
        return std::nullopt;
    const Step* const norm = steps.next(concat, "BatchNormalization");
    if (!norm || norm->attributes.flag("training_mode") || std::ranges::count(norm->inputs, kNone) > 0 ||
        norm->inputs.size() != 5 ||
        std::any_of(norm->outputs.begin() + 1, norm->outputs.end(),
                    [&](std::uint32_t v) { return v != kNone && !plan.values[v].absent; }))
        return std::nullopt;
    std::vector<std::uint32_t> out{concat.index, norm->index};
    if (const Step* const relu = steps.next(*norm, "Relu")) out.push_back(relu->index);
    return out;
}

} // namespace

/// Normalizes the parts of a Concat where they are, so that the joined tensor is written once.
void Compiler::fuseJoins() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const FollowedSteps steps(*m_plan);
    std::vector<std::vector<std::uint32_t>> joins;
    for (const Step& step : m_plan->steps)
        if (auto join = joinAt(*m_plan, steps, step)) joins.push_back(std::move(*join));
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const std::vector<std::uint32_t>& join : joins) {
        const Step norm = m_plan->steps[join[1]];
        std::vector<std::uint32_t> inputs = m_plan->steps[join[0]].inputs;
        inputs.insert(inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
        Step& last = m_plan->steps[join.back()];
        const Replacement replacement(*m_plan, join, isGone);
        replacement.op->channelsLast = ChannelsLast::either;
        replacement.op->kernel = joinedNormalizationKernel;
        replacement.op->inputs.resize(inputs.size());
        replacement.become(*m_plan, last, std::move(inputs), last.outputs[0],
                           {{"epsilon", norm.attributes.number("epsilon")}, {"relu", join.size() > 2}},
                           norm.cost.flops, isGone);
        m_plan->chainOps.push_back(replacement.op);
    }
    if (!joins.empty()) dropSteps(isGone);
}

} // namespace twb
