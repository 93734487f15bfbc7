#pragma once

#include "backends/backend.h"
#include "backends/cuda/kernels/fault.h"

#include <cstddef>
#include <vector>

namespace twb::cuda {

/// Page-locked memory that a CUDA graph uses at each replay.
struct KeptForReplays {
    /// Kernels of the graph write the first fault of a launch to `memory`. It is not cleared, since a fault
    /// ends the run. The host reads it after each replay.
    struct LaunchFault {
        Fault* memory = nullptr;
        LaunchGuard* guard = nullptr;
        std::uint32_t step = 0;
    };
    static constexpr std::size_t kFaultsPerBlock = 4096 / sizeof(Fault);

    std::vector<BufferPtr> uploads;
    std::vector<BufferPtr> faultBlocks; ///< each for kFaultsPerBlock launches
    std::vector<LaunchFault> faults;    ///< of the launches that may report a fault, in their order
};

} // namespace twb::cuda
