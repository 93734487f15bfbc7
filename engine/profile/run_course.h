#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace twb {

/// From the step that made a tensor, over the copy that moved it, to a step that used it; positions in the
/// records.
struct TensorFlow {
    std::uint32_t producer = 0;
    std::uint32_t transfer = 0;
    std::uint32_t consumer = 0;
};

/// `records` are finished steps, each after those whose results it used. What was moved before the iterations
/// flows once, into the first of them.
std::vector<TensorFlow> flowsOf(const Plan& plan, std::span<const StepRecord> records);

/// Why each step of a run began when it did; steps are positions in the records.
struct RunCourse {
    /// The step whose end it waited for, which is the latest one of those that it had to wait for and of the
    /// one before it on its stream; kNone: none of these is among the records.
    std::vector<std::uint32_t> after;
    std::vector<std::uint32_t> before; ///< the one before it on its stream; kNone: none
    /// Of the last iteration: the step that ended last, what it waited for, and so on; the first one first.
    std::vector<std::uint32_t> critical;
    /// What the critical path is made of, in ns; they add up to lengthNs.
    double computeNs = 0;
    double transferNs = 0;
    double overheadNs = 0; ///< launches, by the profiles of who ran them
    double waitNs = 0;     ///< between the end of one and the start of the next
    double lengthNs = 0;
};

/// `records` as RunObserver::steps gives them: those of one iteration before those of the next. Linear in
/// them, but for their order on each stream.
RunCourse courseOf(const Plan& plan, std::span<const StepRecord> records);

} // namespace twb
