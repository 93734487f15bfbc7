#pragma once

#include "runtime/step_groups.h"

#include <string_view>
#include <vector>

namespace twb {

/// Finds steps on the cpu that pass one tensor on, to be replaced by a step whose op has a kernel of its own.
class FollowedSteps {
public:
    explicit FollowedSteps(const Plan& plan) : m_plan(plan), m_readers(soleReaders(plan)) {}

    /// Whether the step runs this op in each iteration, on the cpu, with known sizes.
    bool isOn(const Step& step, std::string_view op) const {
        return step.op && step.op->name == op && !step.setup && !step.dynamic && !step.last &&
               step.owner == kNone && m_plan.streams[step.stream].device.isCpu();
    }
    /// The only consumer of the first result, if it runs an op in each iteration, on the same stream, with
    /// known sizes.
    const Step* next(const Step& before) const {
        const std::uint32_t v = before.outputs[0];
        if (m_readers[v] == kNone || !isOnlyPassedOn(m_plan.values[v])) return nullptr;
        const Step& step = m_plan.steps[m_readers[v]];
        return step.op && isOn(step, step.op->name) && step.stream == before.stream ? &step : nullptr;
    }
    /// The same, if the op is `op` and the result its input `port`.
    const Step* next(const Step& before, std::string_view op, std::size_t port = 0) const {
        const Step* const step = next(before);
        return step && step->op->name == op && step->inputs.size() > port &&
                       step->inputs[port] == before.outputs[0]
                   ? step
                   : nullptr;
    }
    const TensorType& typeOf(std::uint32_t v) const { return m_plan.values[v].type; }

private:
    const Plan& m_plan;
    const std::vector<std::uint32_t> m_readers; ///< by value
};

/// A step that replaces others. The caller adds `op`, which has their joined names, to Plan::chainOps.
struct Replacement {
    std::shared_ptr<Op> op = std::make_shared<Op>();
    std::vector<NodeId> members;
    std::string label;

    /// Removes the steps; the tensors between them get no memory. They stand in order.
    Replacement(Plan& plan, const std::vector<std::uint32_t>& steps, std::vector<bool>& isGone) {
        for (const std::uint32_t index : steps) {
            const Step& step = plan.steps[index];
            op->name += (op->name.empty() ? "" : "+") + step.op->name;
            label += (label.empty() ? "" : ", ") + step.label;
            members.push_back(step.node);
            isGone[index] = true;
            if (index != steps.back()) plan.values[step.outputs[0]].absent = true;
        }
        op->outputs.emplace_back();
    }

    /// Makes `step` this replacement, with `result` as its only result.
    void become(Plan& plan, Step& step, std::vector<std::uint32_t> inputs, std::uint32_t result,
                Attributes attributes, double flops, std::vector<bool>& isGone) const {
        step.op = op.get();
        step.node = members.back();
        step.members = members;
        step.label = label;
        step.inputs = std::move(inputs);
        step.outputs = {result};
        step.attributes = std::move(attributes);
        step.signature = 0;
        step.cost = {.flops = flops, .bytes = 2 * static_cast<double>(plan.values[result].type.byteCount())};
        step.predictedNs = plan.devices.at(plan.streams[step.stream].device).profile().kernelNs(step.cost);
        isGone[step.index] = false;
    }
};

} // namespace twb
