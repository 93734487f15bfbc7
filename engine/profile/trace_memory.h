#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Bytes of one device that live tensors take from `ns` on.
struct MemorySample {
    std::int64_t ns = 0;
    Device device;
    std::uint64_t bytes = 0;
};

/// How much memory the tensors of a run needed over its time: a tensor lives from the start of the step that
/// makes it to the end of the last one that reads it, one that is kept or made before the iterations to the
/// end. A tensor that takes over another's memory counts once with it; sizes known only at run time are left
/// out. `records` are finished steps in order of their start; the samples come in order of time.
std::vector<MemorySample> liveMemory(const Plan& plan, const std::vector<StepRecord>& records);

} // namespace twb
