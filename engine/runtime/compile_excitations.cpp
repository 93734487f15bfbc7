#include "ops/squeeze_excite.h"
#include "runtime/compiler.h"
#include "runtime/followed_steps.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

/// A squeeze-and-excitation block: GlobalAveragePool, Conv, Relu or Swish, Conv, Sigmoid, and a Mul with the
/// input of the first, where both convolutions have windows of one element.
struct Excitation {
    std::vector<std::uint32_t> steps; ///< in order
    const Step* pool = nullptr;
    const Step* first = nullptr;
    const Step* activation = nullptr;
    const Step* second = nullptr;
};

class ExcitationFinder {
public:
    explicit ExcitationFinder(const Plan& plan) : m_plan(plan), m_steps(plan) {}

    std::optional<Excitation> at(const Step& pool) const {
        if (!m_steps.isOn(pool, "GlobalAveragePool")) return std::nullopt;
        const std::uint32_t x = pool.inputs[0];
        const TensorType& type = m_steps.typeOf(x);
        if (type.dtype != DType::f32 || type.shape.rank() < 3) return std::nullopt;
        Excitation out{{pool.index}, &pool};
        out.first = m_steps.next(pool, "Conv");
        if (!out.first || !isProduct(*out.first)) return std::nullopt;
        out.activation = m_steps.next(*out.first, "Relu");
        if (!out.activation) out.activation = m_steps.next(*out.first, "Swish");
        if (!out.activation) return std::nullopt;
        out.second = m_steps.next(*out.activation, "Conv");
        if (!out.second || !isProduct(*out.second)) return std::nullopt;
        const Step* const gate = m_steps.next(*out.second, "Sigmoid");
        if (!gate) return std::nullopt;
        const Step* multiply = m_steps.next(*gate, "Mul", 0);
        if (!multiply) multiply = m_steps.next(*gate, "Mul", 1);
        if (!multiply || std::ranges::count(multiply->inputs, x) != 1 ||
            !(m_steps.typeOf(multiply->outputs[0]) == type))
            return std::nullopt;
        for (const Step* const step : {out.first, out.activation, out.second, gate, multiply})
            out.steps.push_back(step->index);
        return out;
    }

private:
    /// A convolution of one group whose weights have as many elements as a matrix.
    bool isProduct(const Step& conv) const {
        const Shape& weights = m_steps.typeOf(conv.inputs[1]).shape;
        return conv.attributes.integer("group") == 1 && weights.elementCount() == weights[0] * weights[1];
    }

    const Plan& m_plan;
    const FollowedSteps m_steps;
};

std::uint32_t biasOf(const Step& conv) { return conv.inputs.size() > 2 ? conv.inputs[2] : kNone; }

} // namespace

/// Computes squeeze-and-excitation blocks in one step, in which each thread reads and writes neighbouring
/// rows, instead of six, most of them tiny.
void Compiler::fuseExcitations() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const ExcitationFinder finder(*m_plan);
    std::vector<Excitation> found;
    for (const Step& step : m_plan->steps)
        if (auto excitation = finder.at(step)) found.push_back(std::move(*excitation));
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (const Excitation& excitation : found) {
        std::vector<std::uint32_t> inputs{excitation.pool->inputs[0], excitation.first->inputs[1],
                                          biasOf(*excitation.first), excitation.second->inputs[1],
                                          biasOf(*excitation.second)};
        const std::string activation(excitation.activation->op->name);
        const double alpha = activation == "Swish" ? excitation.activation->attributes.number("alpha") : 0.0;
        double flops = 0;
        for (const std::uint32_t index : excitation.steps) flops += m_plan->steps[index].cost.flops;
        Step& last = m_plan->steps[excitation.steps.back()];
        const Replacement replacement(*m_plan, excitation.steps, isGone);
        replacement.op->channelsLast = ChannelsLast::either;
        replacement.op->kernel = squeezeExciteKernel;
        replacement.op->inputs.resize(inputs.size());
        replacement.op->inPlace = {0};
        replacement.become(*m_plan, last, std::move(inputs), last.outputs[0],
                           {{"activation", activation}, {"alpha", alpha}}, flops, isGone);
        m_plan->chainOps.push_back(replacement.op);
    }
    if (!found.empty()) dropSteps(isGone);
}

} // namespace twb
