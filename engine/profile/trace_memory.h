#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace twb {

/// Bytes of one device that live tensors take from `ns` on.
struct MemorySample {
    std::int64_t ns = 0;
    Device device;
    std::uint64_t bytes = 0;
};

/// A tensor in a device's memory, with those that took over its memory after it.
struct LiveTensor {
    std::uint32_t producer = 0; ///< the step that made it first
    Device device;
    std::uint64_t bytes = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; ///< kToTheEnd where it stays to the end of the run
};
inline constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// The tensors of a run and their lives: from the start of the step that makes one to the end of the last one
/// that reads it; one that is kept or made before the iterations stays. Sizes known only at run time are left
/// out. `records` are finished steps in order of their start.
std::vector<LiveTensor> liveTensors(const Plan& plan, const std::vector<StepRecord>& records);

/// How much memory these needed over the run's time, in order of time.
std::vector<MemorySample> liveMemory(const Plan& plan, const std::vector<StepRecord>& records);

/// The memory of one device over the iteration of some records.
struct MemoryCourse {
    Device device;
    std::int64_t startNs = 0; ///< of the iteration
    std::int64_t endNs = 0;
    std::vector<LiveTensor> tensors; ///< that lived in it, as they began
    std::int64_t peakNs = 0;         ///< when it was most, the first time
    std::uint64_t peakBytes = 0;
    std::vector<LiveTensor> atPeak; ///< alive then, the largest first
};

/// By device on which anything lived. `records`: the setup's and those of one iteration, as liveTensors()
/// takes them.
std::vector<MemoryCourse> memoryCourses(const Plan& plan, const std::vector<StepRecord>& records);

} // namespace twb
