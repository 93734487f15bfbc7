#pragma once

#include "placement/analysis.h"
#include "profile/report.h"
#include "runtime/plan.h"

#include <memory>
#include <string>
#include <vector>

namespace twb {

/// The snapshot of the document for a run.
struct RunRequest {
    Graph graph;
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;
    std::uint64_t revision = 0;
    /// True: the run keeps its tensors for the inspector (a single iteration, or a run with breakpoints).
    /// False: a measured run, in which memory is shared.
    bool keepsTensors = false;
    /// True: a measured run fuses no ops, so that each op has its own time.
    bool timesEachOp = false;
};

/// Everything needed to start a run.
struct PreparedRun {
    Analysis analysis;
    std::shared_ptr<const Plan> plan; ///< null if the graph cannot be compiled
    std::shared_ptr<const Plan> lean; ///< for a measured run
    /// For a measured run: computes the tensors of one iteration that the measured plan does not keep. It
    /// writes no files.
    std::shared_ptr<const Plan> again;
    /// The tensors that the graph updates in place. To repeat the last iteration, `again` needs their values
    /// from before that iteration.
    std::vector<PortRef> updated;
    bool copiesUpdated = false;       ///< whether these tensors together fit into kKeptBytes and are copied
    std::vector<RunInputFile> inputs; ///< before the run, so that a change during the run shows
    std::string error;                ///< the reason why `plan` is null
};

/// The limit on tensors that a run keeps for the inspector, in total bytes.
inline constexpr std::uint64_t kKeptBytes = 256ull << 20;

/// Analyses the snapshot once and compiles its plans. May be called from any thread; never throws.
PreparedRun prepareRun(const RunRequest& request) noexcept;

} // namespace twb
