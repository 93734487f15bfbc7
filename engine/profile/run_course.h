#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace twb {

/// A tensor's way from its producer, over a copy, to a consumer; positions in the records.
struct TensorFlow {
    std::uint32_t producer = 0;
    std::uint32_t transfer = 0;
    std::uint32_t consumer = 0;
};

/// `records`: finished steps, each after its producers. A tensor that was moved before the iterations flows
/// once, into the first iteration.
std::vector<TensorFlow> flowsOf(const Plan& plan, std::span<const StepRecord> records);

/// The reason why each step of a run started when it did; steps are positions in the records.
struct RunCourse {
    /// The step whose end the step waited for: the latest among its producers and the previous step on its
    /// stream. kNone: none of these is among the records.
    std::vector<std::uint32_t> after;
    std::vector<std::uint32_t> before; ///< the previous step on its stream; kNone: none
    /// Of the last iteration: the step that ended last, the step that it waited for, and so on; first to
    /// last. Before an If, Loop or Scan come the steps of its bodies, whose times count in its place.
    std::vector<std::uint32_t> critical;
    /// The parts of the critical path, in ns; the sum is lengthNs.
    double computeNs = 0;
    double transferNs = 0;
    double overheadNs = 0; ///< launches, from the devices' profiles
    double waitNs = 0;     ///< between the end of one step and the start of the next, also within a Loop
    double lengthNs = 0;
};

/// `records`: as from RunObserver::steps, iteration by iteration. Linear in the records, except for sorting
/// each stream.
RunCourse courseOf(const Plan& plan, std::span<const StepRecord> records);

} // namespace twb
