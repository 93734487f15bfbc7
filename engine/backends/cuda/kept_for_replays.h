#pragma once

#include "backends/backend.h"

#include <vector>

namespace twb::cuda {

/// Page-locked memory that a CUDA graph uses at each replay.
struct KeptForReplays {
    /// Kernels of the graph write the first fault here; nobody clears it, since a fault ends the run. The
    /// host reads it after each replay.
    struct FaultMemory {
        BufferPtr memory;
        std::uint32_t step = 0;
    };
    std::vector<BufferPtr> uploads;
    std::vector<FaultMemory> faults; ///< of the launches that may report a fault, in their order
};

} // namespace twb::cuda
