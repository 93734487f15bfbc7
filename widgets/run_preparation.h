#pragma once

#include "placement/analysis.h"
#include "profile/report.h"
#include "runtime/plan.h"

#include <memory>
#include <string>
#include <vector>

namespace twb {

/// A snapshot of the document that a run is made from.
struct RunRequest {
    Graph graph;
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;
    std::uint64_t revision = 0;
    /// The run itself keeps the tensors for the user to look at (one iteration, or a run with breakpoints).
    /// Otherwise it is a measurement: memory is shared and ops are fused.
    bool keepsTensors = false;
};

/// What a run needs to start.
struct PreparedRun {
    Analysis analysis;
    std::shared_ptr<const Plan> plan; ///< null when the graph cannot be compiled
    std::shared_ptr<const Plan> lean; ///< as a measurement has it
    /// Of a measurement: computes the tensors again that the measured plan does not keep. It writes no files.
    std::shared_ptr<const Plan> again;
    std::vector<InputFile> inputs; ///< as they are before the run, so that a change during it shows
    std::string error;             ///< why `plan` is null
};

/// Tensors that a run keeps for looking at, all together, in bytes.
inline constexpr std::uint64_t kKeptBytes = 256ull << 20;

/// Analyses the snapshot once and compiles its plans. For any thread; throws nothing.
PreparedRun prepareRun(const RunRequest& request) noexcept;

} // namespace twb
