#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Steps that are fused into one launch, in order. The result of the last is the result of the launch.
struct StepGroup {
    OpChain::Kind kind = OpChain::Kind::pointwise;
    std::vector<std::uint32_t> steps;
    std::vector<std::uint32_t> inputs; ///< values from outside, without duplicates
};

/// By value: its only consumer. kNone if it has none or several, or if an update in place comes between.
std::vector<std::uint32_t> soleReaders(const Plan& plan);
/// Whether a step can be fused if its op can and its dtypes allow it: it computes one tensor per iteration,
/// the first output, with known sizes.
bool isPlainLaunch(const Plan& plan, const Step& step);
/// The same, and the tensor is a floating one with the dtype of all inputs on the device.
bool mayShareLaunch(const Plan& plan, const Step& step);
/// Whether a value is needed only by its consumer.
bool isOnlyPassedOn(const PlanValue& value);

/// Matrix products and convolutions with their epilogues (Backend::endsProduct); on the cpu, if `onCpu`,
/// convolutions, normalisations and products with a constant matrix, of bytes, too. `readers`: the plan's
/// soleReaders().
std::vector<StepGroup> productGroups(const Plan& plan, const std::vector<std::uint32_t>& readers, bool onCpu);
/// Chains of pointwise ops (Backend::fuses) among the remaining steps; `onCpu`: on the cpu, too.
std::vector<StepGroup> pointwiseGroups(const Plan& plan, const std::vector<std::uint32_t>& readers,
                                       const std::vector<bool>& isTaken, bool onCpu);

} // namespace twb
