#include "core/error.h"
#include "runtime/compiler.h"

#include <algorithm>

namespace twb {
namespace {

[[noreturn]] void onlyTogether(const KernelContext&) {
    throw Error(ErrorCode::unsupported, "several ops in one launch have no kernel for host memory");
}

/// As many ops as one kernel is made of: longer ones take long to compile and gain nothing more.
constexpr std::size_t kMostMembers = 32;

/// Steps whose launches become one, in their order; the last one's result is theirs.
struct Group {
    std::vector<std::uint32_t> steps;
    std::vector<std::uint32_t> inputs; ///< values from outside, each once
};

/// Finds the groups of one plan.
class ChainFinder {
public:
    explicit ChainFinder(const Plan& plan) : m_plan(plan), m_reader(plan.values.size(), kNone) {
        m_groups.resize(plan.steps.size());
        for (const Step& step : plan.steps)
            for (const std::uint32_t v : step.inputs) {
                if (v == kNone) continue;
                // Several readers, or none that is known: nobody takes it over.
                m_reader[v] = m_reader[v] == kNone || m_reader[v] == step.index ? step.index : kMany;
            }
    }

    /// By step; empty for steps that are launched as they are or with a later one.
    std::vector<Group> find() {
        for (const Step& step : m_plan.steps)
            if (mayBeMember(step)) grow(step);
        for (Group& group : m_groups)
            if (group.steps.size() < 2) group = {};
        return std::move(m_groups);
    }

private:
    static constexpr std::uint32_t kMany = kNone - 1;

    const PlanValue& valueOf(std::uint32_t v) const { return m_plan.values[v]; }

    bool mayBeMember(const Step& step) const {
        if (!step.op || step.setup || step.dynamic || step.last || step.owner != kNone ||
            step.outputs.size() != 1 || step.inputs.size() > kMaxChainInputs)
            return false;
        const PlanStream& stream = m_plan.streams[step.stream];
        const DType dtype = valueOf(step.outputs[0]).type.dtype;
        if (!isFloating(dtype) || stream.device.isCpu()) return false;
        for (std::size_t port = 0; port < step.inputs.size(); ++port) {
            const std::uint32_t v = step.inputs[port];
            if (v == kNone) continue;
            if (step.op->inputAt(static_cast<int>(port)).hostValue || valueOf(v).type.dtype != dtype)
                return false;
        }
        return m_plan.devices.at(stream.device).fuses(step.op->name.c_str(), step.attributes, dtype);
    }

    /// The step, and with it every group whose result only it reads.
    void grow(const Step& step) {
        Group own;
        const Shape& shape = valueOf(step.outputs[0]).type.shape;
        std::vector<std::uint32_t> taken;
        std::size_t count = 1; // members
        const auto addInput = [](std::vector<std::uint32_t>& inputs, std::uint32_t v) {
            if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
        };
        // Whatever is not taken over is an input, so room is left for these.
        std::vector<std::uint32_t> inputs;
        for (const std::uint32_t v : step.inputs)
            if (v != kNone) addInput(inputs, v);
        for (const std::uint32_t v : std::vector(inputs)) {
            const auto producer = producerOf(v);
            const PlanValue& value = valueOf(v);
            if (producer == kNone || m_groups[producer].steps.empty() || m_reader[v] != step.index ||
                value.kept || value.handedOn || !(value.type.shape == shape) ||
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

    /// The step that may be taken over for its result.
    std::uint32_t producerOf(std::uint32_t v) const {
        const auto made = m_maker.find(v);
        return made == m_maker.end() ? kNone : made->second;
    }

    const Plan& m_plan;
    std::vector<std::uint32_t> m_reader; ///< by value: the one step that reads it, kMany, or kNone
    std::map<std::uint32_t, std::uint32_t> m_maker;
    std::vector<Group> m_groups;
};

std::shared_ptr<const PointwiseChain> chainOf(const Plan& plan, const Group& group) {
    auto chain = std::make_shared<PointwiseChain>();
    chain->inputs = group.inputs.size();
    std::map<std::uint32_t, std::size_t> operands; // by value
    for (std::size_t i = 0; i < group.inputs.size(); ++i) operands[group.inputs[i]] = i;
    for (const std::uint32_t index : group.steps) {
        const Step& step = plan.steps[index];
        PointwiseChain::Member member{step.op->name, step.attributes, {}};
        for (const std::uint32_t v : step.inputs)
            if (v != kNone) member.operands.push_back(operands.at(v));
        operands[step.outputs[0]] = chain->inputs + chain->members.size();
        chain->members.push_back(std::move(member));
    }
    return chain;
}

/// What the launch of a chain goes by: its ops' names, and ports for its inputs, any of which it may
/// overwrite.
std::shared_ptr<const Op> opOf(const PointwiseChain& chain) {
    auto op = std::make_shared<Op>();
    for (const PointwiseChain::Member& member : chain.members)
        op->name += (op->name.empty() ? "" : "+") + member.op;
    op->category = "Pointwise";
    op->elementwise = true;
    op->kernel = onlyTogether;
    for (std::size_t i = 0; i < chain.inputs; ++i) {
        op->inputs.emplace_back();
        op->inPlace.push_back(static_cast<int>(i));
    }
    op->outputs.emplace_back();
    return op;
}

} // namespace

/// Chains of pointwise ops whose intermediate results nobody else reads or keeps become one step each, where
/// the backend says that it runs them so. A plan with bodies is left as it is: theirs are ranges of steps.
void Compiler::fuseChains() {
    if (!m_plan->controls.empty()) return;
    std::vector<Group> groups = ChainFinder(*m_plan).find();
    std::vector<bool> isGone(m_plan->steps.size(), false);
    bool any = false;
    for (const Group& group : groups) {
        if (group.steps.empty()) continue;
        any = true;
        auto chain = chainOf(*m_plan, group);
        Step& last = m_plan->steps[group.steps.back()];
        std::string label;
        double flops = 0;
        double bytes = 0;
        for (const std::uint32_t index : group.steps) {
            Step& step = m_plan->steps[index];
            label += (label.empty() ? "" : ", ") + step.label;
            flops += step.cost.flops;
            last.members.push_back(step.node);
            if (index == last.index) continue;
            isGone[index] = true;
            m_plan->values[step.outputs[0]].absent = true;
        }
        for (const std::uint32_t v : group.inputs)
            bytes += static_cast<double>(m_plan->values[v].type.byteCount());
        bytes += static_cast<double>(m_plan->values[last.outputs[0]].type.byteCount());
        m_plan->chainOps.push_back(opOf(*chain));
        last.op = m_plan->chainOps.back().get();
        last.attributes = {};
        last.inputs = group.inputs;
        last.label = std::move(label);
        last.cost.flops = flops;
        last.cost.bytes = bytes;
        last.predictedNs =
            m_plan->devices.at(m_plan->streams[last.stream].device).profile().kernelNs(last.cost);
        last.chain = std::move(chain);
    }
    if (!any) return;
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
