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
/// rank by rank. Its devices have the names that rank 0 gives them: rank1/cuda:0 is cuda:0 of rank 1. Streams
/// and transfers are named "rank1/cuda:0 compute". A call over all ranks waits for what each of them passes
/// to it, and a received message for its sender. The plans of one rank, its parts, share its streams; the
/// transfers of all but the first are named "validation: images → cuda:0", and their tensors have no memory.
struct RunTrace {
    std::shared_ptr<const Plan> plan;
    std::vector<StepRecord> records; ///< by iteration and start
    std::vector<RankPace> ranks;     ///< of a trace of several ranks
    /// By step: whether it counts for the graph. Where all ranks run the whole graph, those of rank 0's first
    /// part do. Where each rank runs its own nodes, those of all ranks do; a message counts where it is
    /// received.
    std::vector<bool> isOfGraph;
    std::int64_t iterations = 0;
};

/// Throws Error(io), or Error(badFile), also for a trace of another program.
RunTrace readRunTrace(const std::filesystem::path& path, const ReadProgress& progress = {});

} // namespace twb
