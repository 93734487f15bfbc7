#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace twb {

/// The bytes of live tensors on one device from `ns` on.
struct MemorySample {
    std::int64_t ns = 0;
    Device device;
    std::uint64_t bytes = 0;
};

/// A tensor in a device's memory, together with the tensors that reused its memory in place.
struct LiveTensor {
    std::uint32_t producer = 0; ///< the step that made it first
    Device device;
    std::uint64_t bytes = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; ///< kToTheEnd if it lives until the end of the run
};
inline constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// The tensors of a run and their lifetimes: from the start of the producer to the end of the last consumer.
/// Tensors that are kept, or made before the iterations, live until the end. Tensors whose size is known only
/// at run time are missing. `records`: finished steps, sorted by start.
std::vector<LiveTensor> liveTensors(const Plan& plan, const std::vector<StepRecord>& records);

/// The memory of these tensors over time.
std::vector<MemorySample> liveMemory(const Plan& plan, const std::vector<StepRecord>& records);

/// The memory of one device over the iteration of some records.
struct MemoryCourse {
    Device device;
    std::int64_t startNs = 0; ///< of the iteration
    std::int64_t endNs = 0;
    std::vector<LiveTensor> tensors; ///< alive during the iteration, sorted by start
    std::int64_t peakNs = 0;         ///< the first time of the peak
    std::uint64_t peakBytes = 0;
    std::vector<LiveTensor> atPeak; ///< alive at the peak, largest first
};

/// By device with at least one tensor. `records`: those of the setup and of one iteration, as for
/// liveTensors().
std::vector<MemoryCourse> memoryCourses(const Plan& plan, const std::vector<StepRecord>& records);

} // namespace twb
