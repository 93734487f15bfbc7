#pragma once

#include "core/error.h"
#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// By step of the plan, in the order of their nodes: its op, attributes, device, inputs, types, and the types
/// of the files that it reads. Equal for plans that make the same calls over ranks in the same order.
/// The plan names devices as the rank `seenBy` sees them (graph/rank_lanes.h).
std::vector<std::uint64_t> stepHashes(const Plan& plan, int seenBy = 0);

/// All ranks have found the same difference between their plans or devices.
class DifferentPlans final : public Error {
public:
    explicit DifferentPlans(const std::string& sentence) : Error(ErrorCode::badGraph, sentence) {}
};

/// Compares the plans of all ranks of the plan's world, which must all call it. Throws Error(badGraph) on all
/// ranks if they differ; the sentence names the first node that does, and a rank. `seenBy` as for
/// stepHashes().
void requireSamePlan(const Plan& plan, int seenBy = 0);

} // namespace twb
