#pragma once

#include "core/error.h"
#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// By step of the plan, in the order of their nodes: its op, attributes, device, inputs, types, and the types
/// of the files that it reads. Equal for plans that make the same calls over ranks in the same order.
std::vector<std::uint64_t> stepHashes(const Plan& plan);

/// All ranks have found that their plans differ.
class DifferentPlans final : public Error {
public:
    explicit DifferentPlans(const std::string& sentence) : Error(ErrorCode::badGraph, sentence) {}
};

/// Compares the plans of all ranks of the plan's world, which must all call it. Throws Error(badGraph) on all
/// ranks if they differ; the sentence names the first node that does, and a rank.
void requireSamePlan(const Plan& plan);

} // namespace twb
