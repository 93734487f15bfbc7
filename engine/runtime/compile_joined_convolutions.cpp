#include "ops/joined_convolution.h"
#include "runtime/compiler.h"
#include "runtime/followed_steps.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

/// Convolutions whose results, all or none of them after a Relu, a Concat joins along the channels.
struct Join {
    std::vector<std::uint32_t> steps; ///< in order, the Concat last
    std::vector<const Step*> convolutions;
    bool hasRelu = false;
};

class JoinFinder {
public:
    explicit JoinFinder(const Plan& plan)
        : m_plan(plan), m_steps(plan), m_producers(plan.values.size(), kNone) {
        for (const Step& step : plan.steps)
            for (const std::uint32_t v : step.outputs) m_producers[v] = step.index;
    }

    std::optional<Join> at(const Step& concat) const {
        constexpr std::size_t kMostInputs = 20; // the constants of whose convolutions a step knows
        if (!m_steps.isOn(concat, "Concat") || concat.inputs.size() < 2 || concat.inputs.size() > kMostInputs)
            return std::nullopt;
        const TensorType& joined = m_steps.typeOf(concat.outputs[0]);
        const std::int64_t axis = concat.attributes.integer("axis");
        if (joined.dtype != DType::f32 || joined.shape.rank() != 4 || (axis != 1 && axis != -3))
            return std::nullopt;
        Join out;
        for (std::size_t port = 0; port < concat.inputs.size(); ++port) {
            const Step* last = producerOf(concat.inputs[port]);
            if (!last || m_steps.next(*last, "Concat", port) != &concat) return std::nullopt;
            const bool isRelu = m_steps.isOn(*last, "Relu");
            if (port == 0) out.hasRelu = isRelu;
            if (isRelu != out.hasRelu) return std::nullopt;
            const Step* const conv = isRelu ? producerOf(last->inputs[0]) : last;
            if (!conv || !m_steps.isOn(*conv, "Conv") || !isExplicit(*conv) ||
                (isRelu && m_steps.next(*conv, "Relu") != last))
                return std::nullopt;
            out.convolutions.push_back(conv);
            out.steps.push_back(conv->index);
            if (isRelu) out.steps.push_back(last->index);
        }
        out.steps.push_back(concat.index);
        std::ranges::sort(out.steps);
        return out;
    }

private:
    const Step* producerOf(std::uint32_t v) const {
        return v == kNone || m_producers[v] == kNone ? nullptr : &m_plan.steps[m_producers[v]];
    }
    /// Whether the attributes state the padding.
    static bool isExplicit(const Step& conv) {
        return !conv.attributes.has("auto_pad") || conv.attributes.text("auto_pad") == "NOTSET";
    }

    const Plan& m_plan;
    const FollowedSteps m_steps;
    std::vector<std::uint32_t> m_producers; ///< by value
};

/// Appends an attribute of a convolution, or `standard`.
void append(std::vector<std::int64_t>& to, const Step& conv, const char* name,
            const std::vector<std::int64_t>& standard) {
    const std::vector<std::int64_t> own =
        conv.attributes.has(name) ? conv.attributes.integers(name) : standard;
    to.insert(to.end(), own.begin(), own.end());
}

} // namespace

/// Runs convolutions that a Concat joins in one step, in which they write their parts of the joined tensor.
void Compiler::fuseJoinedConvolutions() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const JoinFinder finder(*m_plan);
    std::vector<Join> joins;
    for (const Step& step : m_plan->steps)
        if (auto join = finder.at(step)) joins.push_back(std::move(*join));
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const Join& join : joins) {
        std::vector<std::uint32_t> inputs;
        std::vector<std::int64_t> strides, dilations, pads, groups;
        double flops = 0;
        for (const Step* const conv : join.convolutions) {
            for (std::size_t port = 0; port < 3; ++port)
                inputs.push_back(port < conv->inputs.size() ? conv->inputs[port] : kNone);
            append(strides, *conv, "strides", {1, 1});
            append(dilations, *conv, "dilations", {1, 1});
            append(pads, *conv, "pads", {0, 0, 0, 0});
            groups.push_back(conv->attributes.integer("group"));
        }
        for (const std::uint32_t index : join.steps) flops += m_plan->steps[index].cost.flops;
        Step& last = m_plan->steps[join.steps.back()];
        const Replacement replacement(*m_plan, join.steps, isGone);
        replacement.op->channelsLast = ChannelsLast::wanted;
        replacement.op->kernel = joinedConvolutionKernel;
        replacement.op->inputs.resize(inputs.size());
        replacement.become(*m_plan, last, std::move(inputs), last.outputs[0],
                           {{"strides", strides},
                            {"dilations", dilations},
                            {"pads", pads},
                            {"group", groups},
                            {"relu", join.hasRelu}},
                           flops, isGone);
        m_plan->chainOps.push_back(replacement.op);
    }
    if (!joins.empty()) dropSteps(isGone);
}

} // namespace twb
