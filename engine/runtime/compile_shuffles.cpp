#include "ops/channel_shuffle.h"
#include "runtime/compiler.h"
#include "runtime/followed_steps.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

/// The steps of a channel shuffle as ShuffleNet has it: a Concat of n tensors, a Reshape to n groups of
/// channels, a Transpose of groups and channels, and a Reshape back; then, optionally, a Split in halves.
struct Shuffle {
    std::uint32_t concat = 0;
    std::uint32_t back = 0; ///< the second Reshape
    std::optional<std::uint32_t> split;
    std::vector<std::uint32_t> steps; ///< all of them, in order
};

class ShuffleFinder {
public:
    explicit ShuffleFinder(const Plan& plan) : m_plan(plan), m_steps(plan) {}

    std::optional<Shuffle> at(const Step& concat) const {
        const auto count = static_cast<std::int64_t>(concat.inputs.size());
        if (!m_steps.isOn(concat, "Concat") || count < 2) return std::nullopt;
        const Shape& joined = shapeOf(concat);
        const bool isEqual = std::ranges::all_of(concat.inputs, [&](std::uint32_t v) {
            return v != kNone && m_steps.typeOf(v) == m_steps.typeOf(concat.inputs[0]);
        });
        const std::int64_t axis = concat.attributes.integer("axis");
        if (joined.rank() != 4 || !isEqual || (axis != 1 && axis != -3)) return std::nullopt;
        const Step* const groups = m_steps.next(concat, "Reshape");
        const Shape grouped{joined[0], count, joined[1] / count, joined[2], joined[3]};
        if (!groups || !(shapeOf(*groups) == grouped)) return std::nullopt;
        const Step* const swap = m_steps.next(*groups, "Transpose");
        if (!swap || !swap->attributes.has("perm") ||
            swap->attributes.integers("perm") != std::vector<std::int64_t>{0, 2, 1, 3, 4})
            return std::nullopt;
        const Step* const back = m_steps.next(*swap, "Reshape");
        if (!back || !(shapeOf(*back) == joined)) return std::nullopt;
        Shuffle out{concat.index, back->index, {}, {concat.index, groups->index, swap->index, back->index}};
        if (const Step* const split = m_steps.next(*back, "Split");
            split && isInHalves(*split, joined[1], count)) {
            out.split = split->index;
            out.steps.push_back(split->index);
        }
        return out;
    }

private:
    const Shape& shapeOf(const Step& step) const { return m_steps.typeOf(step.outputs[0]).shape; }

    bool isInHalves(const Step& split, std::int64_t channels, std::int64_t count) const {
        const std::int64_t axis = split.attributes.integer("axis");
        return split.outputs.size() == 2 && (axis == 1 || axis == -3) && channels / 2 % count == 0 &&
               std::ranges::all_of(split.outputs, [&](std::uint32_t v) {
                   return m_steps.typeOf(v).shape[1] * 2 == channels && !m_plan.values[v].absent;
               });
    }

    const Plan& m_plan;
    const FollowedSteps m_steps;
};

/// One step per result reads the tensors of the Concat.
void mergeShuffle(Plan& plan, const Shuffle& shuffle, std::vector<bool>& isGone) {
    const std::vector<std::uint32_t> inputs = plan.steps[shuffle.concat].inputs;
    const std::vector<std::uint32_t> results = plan.steps[shuffle.steps.back()].outputs;
    const Replacement replacement(plan, shuffle.steps, isGone);
    replacement.op->channelsLast = ChannelsLast::either;
    replacement.op->kernel = channelShuffleKernel;
    replacement.op->inputs.resize(inputs.size());
    std::int64_t first = 0; // channel of each input
    for (std::size_t i = 0; i < results.size(); ++i) {
        Step& step = plan.steps[i == 0 ? shuffle.back : *shuffle.split];
        replacement.become(plan, step, inputs, results[i], {{"first", first}}, 0, isGone);
        first += plan.values[results[i]].type.shape[1] / static_cast<std::int64_t>(inputs.size());
    }
    plan.chainOps.push_back(replacement.op);
}

} // namespace

/// Moves the channels of a channel shuffle once instead of four or five times, in the layout of the
/// convolutions around it.
void Compiler::fuseShuffles() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const ShuffleFinder finder(*m_plan);
    std::vector<Shuffle> shuffles;
    for (const Step& step : m_plan->steps)
        if (auto shuffle = finder.at(step)) shuffles.push_back(std::move(*shuffle));
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const Shuffle& shuffle : shuffles) mergeShuffle(*m_plan, shuffle, isGone);
    if (!shuffles.empty()) dropSteps(isGone);
}

} // namespace twb
