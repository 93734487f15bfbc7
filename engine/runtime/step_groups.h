#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Steps that become one launch, in their order; the last one's result is theirs.
struct StepGroup {
    OpChain::Kind kind = OpChain::Kind::pointwise;
    std::vector<std::uint32_t> steps;
    std::vector<std::uint32_t> inputs; ///< values from outside, each once
};

/// By value: the one step that reads it, kNone where none or several do.
std::vector<std::uint32_t> soleReaders(const Plan& plan);
/// Whether a step may share a launch with others, if its op may: it makes one tensor of floats, of the dtype
/// of all that it reads on its device, in every iteration, in sizes that are known.
bool mayShareLaunch(const Plan& plan, const Step& step);
/// Whether a value need not be there for anybody but the step that reads it.
bool isOnlyPassedOn(const PlanValue& value);

/// Products of matrices and convolutions with what ends them (Backend::endsProduct); `readers` are the plan's
/// soleReaders().
std::vector<StepGroup> productGroups(const Plan& plan, const std::vector<std::uint32_t>& readers);
/// Neighbouring pointwise ops (Backend::fuses), of steps that are not taken already.
std::vector<StepGroup> pointwiseGroups(const Plan& plan, const std::vector<std::uint32_t>& readers,
                                       const std::vector<bool>& isTaken);

} // namespace twb
