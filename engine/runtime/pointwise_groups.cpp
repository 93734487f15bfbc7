#include "runtime/step_groups.h"

#include <algorithm>
#include <map>

namespace twb {
namespace {

/// Maximum number of ops per kernel: longer ones compile slowly and gain nothing.
constexpr std::size_t kMostMembers = 32;

class ChainFinder {
public:
    ChainFinder(const Plan& plan, const std::vector<std::uint32_t>& readers, const std::vector<bool>& isTaken,
                bool onCpu)
        : m_plan(plan), m_readers(readers), m_isTaken(isTaken), m_onCpu(onCpu), m_groups(plan.steps.size()) {}

    std::vector<StepGroup> find() {
        for (const Step& step : m_plan.steps)
            if (mayBeMember(step)) grow(step);
        std::erase_if(m_groups, [](const StepGroup& group) { return group.steps.size() < 2; });
        return std::move(m_groups);
    }

private:
    const PlanValue& valueOf(std::uint32_t v) const { return m_plan.values[v]; }

    bool mayBeMember(const Step& step) const {
        if (m_isTaken[step.index] || !mayShareLaunch(m_plan, step)) return false;
        if (step.op->channelsLast != ChannelsLast::pointwise || step.outputs.size() != 1 ||
            std::ranges::count(step.inputs, kNone) > 0)
            return false;
        const Device device = m_plan.streams[step.stream].device;
        if (device.isCpu() && !m_onCpu) return false;
        const Backend& backend = m_plan.devices.at(device);
        return backend.fuses(step.op->name.c_str(), step.attributes, valueOf(step.outputs[0]).type.dtype);
    }

    /// Takes the step, and every group of which it is the only consumer.
    void grow(const Step& step) {
        StepGroup own;
        const Shape& shape = valueOf(step.outputs[0]).type.shape;
        std::vector<std::uint32_t> taken;
        std::size_t count = 1; // members
        const auto addInput = [](std::vector<std::uint32_t>& inputs, std::uint32_t v) {
            if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
        };
        // Values that are not fused become inputs, so room is left for them.
        std::vector<std::uint32_t> inputs;
        for (const std::uint32_t v : step.inputs)
            if (v != kNone) addInput(inputs, v);
        for (const std::uint32_t v : std::vector(inputs)) {
            const auto producer = producerOf(v);
            const PlanValue& value = valueOf(v);
            if (producer == kNone || m_groups[producer].steps.empty() || m_readers[v] != step.index ||
                !isOnlyPassedOn(value) || !(value.type.shape == shape) ||
                m_plan.steps[producer].stream != step.stream)
                continue;
            std::vector<std::uint32_t> together = inputs;
            together.erase(std::find(together.begin(), together.end(), v));
            for (const std::uint32_t input : m_groups[producer].inputs) addInput(together, input);
            const std::size_t members = count + m_groups[producer].steps.size();
            if (together.size() > kMaxChainInputs || members > kMostMembers) continue;
            count = members;
            inputs = std::move(together);
            taken.push_back(producer);
        }
        for (const std::uint32_t producer : taken) {
            own.steps.insert(own.steps.end(), m_groups[producer].steps.begin(),
                             m_groups[producer].steps.end());
            m_groups[producer] = {};
        }
        std::sort(own.steps.begin(), own.steps.end());
        own.steps.push_back(step.index);
        own.inputs = std::move(inputs);
        m_maker.emplace(step.outputs[0], step.index);
        m_groups[step.index] = std::move(own);
    }

    /// The step whose result may be fused.
    std::uint32_t producerOf(std::uint32_t v) const {
        const auto made = m_maker.find(v);
        return made == m_maker.end() ? kNone : made->second;
    }

    const Plan& m_plan;
    const std::vector<std::uint32_t>& m_readers;
    const std::vector<bool>& m_isTaken;
    const bool m_onCpu;
    std::map<std::uint32_t, std::uint32_t> m_maker;
    std::vector<StepGroup> m_groups; ///< by last step, while growing; empty ones were merged into a later one
};

} // namespace

std::vector<StepGroup> pointwiseGroups(const Plan& plan, const std::vector<std::uint32_t>& readers,
                                       const std::vector<bool>& isTaken, bool onCpu) {
    return ChainFinder(plan, readers, isTaken, onCpu).find();
}

} // namespace twb
