#include "ops/squeeze_excite.h"
#include "runtime/compiler.h"
#include "runtime/excitations.h"

namespace twb {
namespace {

/// A convolution of one group whose weights have as many elements as a matrix.
bool isProduct(const FollowedSteps& steps, const Step& conv) {
    const Shape& weights = steps.typeOf(conv.inputs[1]).shape;
    return conv.attributes.integer("group") == 1 && weights.elementCount() == weights[0] * weights[1];
}

} // namespace

std::optional<Excitation> excitationAt(const FollowedSteps& steps, const Step& pool) {
    if (!steps.isOn(pool, "GlobalAveragePool")) return std::nullopt;
    const std::uint32_t x = pool.inputs[0];
    const TensorType& type = steps.typeOf(x);
    if (type.dtype != DType::f32 || type.shape.rank() < 3) return std::nullopt;
    Excitation out{{pool.index}, &pool};
    out.first = steps.next(pool, "Conv");
    if (!out.first || !isProduct(steps, *out.first)) return std::nullopt;
    out.activation = steps.next(*out.first, "Relu");
    if (!out.activation) out.activation = steps.next(*out.first, "Swish");
    if (!out.activation) return std::nullopt;
    out.second = steps.next(*out.activation, "Conv");
    if (!out.second || !isProduct(steps, *out.second)) return std::nullopt;
    const Step* const gate = steps.next(*out.second, "Sigmoid");
    if (!gate) return std::nullopt;
    const Step* multiply = steps.next(*gate, "Mul", 0);
    if (!multiply) multiply = steps.next(*gate, "Mul", 1);
    if (!multiply || std::ranges::count(multiply->inputs, x) != 1 ||
        !(steps.typeOf(multiply->outputs[0]) == type))
        return std::nullopt;
    for (const Step* const step : {out.first, out.activation, out.second, gate, multiply})
        out.steps.push_back(step->index);
    return out;
}

/// Computes squeeze-and-excitation blocks in one step, in which each thread reads and writes neighbouring
/// rows, instead of six, most of them tiny.
void Compiler::fuseExcitations() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const FollowedSteps steps(*m_plan);
    std::vector<Excitation> found;
    for (const Step& step : m_plan->steps)
        if (auto excitation = excitationAt(steps, step)) found.push_back(std::move(*excitation));
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const Excitation& excitation : found) {
        std::vector<std::uint32_t> inputs = excitation.weights();
        inputs.insert(inputs.begin(), excitation.pool->inputs[0]);
        Attributes attributes;
        excitation.describe(attributes);
        double flops = 0;
        for (const std::uint32_t index : excitation.steps) flops += m_plan->steps[index].cost.flops;
        Step& last = m_plan->steps[excitation.steps.back()];
        const Replacement replacement(*m_plan, excitation.steps, isGone);
        replacement.op->channelsLast = ChannelsLast::either;
        replacement.op->kernel = squeezeExciteKernel;
        replacement.op->inputs.resize(inputs.size());
        replacement.op->inPlace = {0};
        replacement.become(*m_plan, last, std::move(inputs), last.outputs[0], std::move(attributes), flops,
                           isGone);
        m_plan->chainOps.push_back(replacement.op);
    }
    if (!found.empty()) dropSteps(isGone);
}

} // namespace twb
