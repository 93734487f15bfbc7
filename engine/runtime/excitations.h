#pragma once

#include "runtime/followed_steps.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace twb {

/// A squeeze-and-excitation block: GlobalAveragePool, Conv, Relu or Swish, Conv, Sigmoid, and a Mul with the
/// input of the first, where both convolutions have windows of one element.
struct Excitation {
    std::vector<std::uint32_t> steps; ///< in order
    const Step* pool = nullptr;
    const Step* first = nullptr;
    const Step* activation = nullptr;
    const Step* second = nullptr;

    /// The weights and biases, as the kernels that compute such blocks read them.
    std::vector<std::uint32_t> weights() const {
        const auto biasOf = [](const Step& conv) { return conv.inputs.size() > 2 ? conv.inputs[2] : kNone; };
        return {first->inputs[1], biasOf(*first), second->inputs[1], biasOf(*second)};
    }
    /// The attributes of such kernels.
    void describe(Attributes& attributes) const {
        const std::string& op = activation->op->name;
        attributes.set("activation", op);
        attributes.set("alpha", op == "Swish" ? activation->attributes.number("alpha") : 0.0);
    }
};

/// The block that begins at a step, if there is one.
std::optional<Excitation> excitationAt(const FollowedSteps& steps, const Step& pool);

} // namespace twb
