#pragma once

#include "profile/gzip_input.h"
#include "profile/rank_report.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace twb {

/// A trace of `twb run --trace` or `twb train --trace`, read again. The plans of several ranks are one plan,
/// rank by rank; their streams and transfers are named "rank1/cuda:0 compute". Its memory is that of rank 0.
/// A call over all ranks waits for what each of them passes to it. The plans of one rank, its parts, share
/// its streams; the transfers of all but the first are named "validation: images → cuda:0".
struct RunTrace {
    std::shared_ptr<const Plan> plan;
    std::vector<StepRecord> records; ///< by iteration and start
    std::vector<RankPace> ranks;     ///< of a trace of several ranks
    std::size_t ownSteps = 0;        ///< steps of the first part of rank 0, which come first
    std::int64_t iterations = 0;
};

/// Throws Error(io), or Error(badFile), also for a trace of another program, and for one whose ranks mix
/// simulated and real devices of one name.
RunTrace readRunTrace(const std::filesystem::path& path, const ReadProgress& progress = {});

} // namespace twb
