#pragma once

#include "profile/report.h"
#include "profile/traced_ops.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// The ops of a profile matched with the steps of a plan.
///
/// A step and its ops agree in the node's name (ONNX Runtime), in the aten op of an imported program
/// (program_calls.h), or in the kind of op and the shape of the first operand; and, if both are known, in the
/// source line, or in the function if the profile knows only functions. Among equal ones the order decides;
/// an op may have run k times for each step. If the numbers do not fit, none of these steps and ops is
/// matched. A copy matches a transfer of the plan by its direction and bytes, in their order.
struct Overlay {
    std::string profiler;
    std::string device;                ///< of the profile; may be empty
    std::vector<std::string> problems; ///< of the profile's first faulty events
    std::int64_t spanNs = 0;
    /// One per matched op, by iteration and start, in ns from the first one's start.
    std::vector<StepRecord> records;
    /// Steps of a call that became several steps, and the step that has the time of the whole call.
    std::map<std::uint32_t, std::uint32_t> parts;
    std::vector<std::uint32_t> unmatched; ///< steps that compute in the iteration, without an op
    std::size_t steps = 0;                ///< the number of steps that compute in the iteration
    std::size_t transfers = 0;            ///< the number of transfers
    std::size_t matchedTransfers = 0;
    struct OtherOp {
        std::uint64_t count = 0;
        std::int64_t ns = 0;
    };
    std::map<std::string, OtherOp> otherOps; ///< ops of the profile without a step, by name
    std::int64_t opsNs = 0;                  ///< of all ops of the profile
    std::int64_t matchedNs = 0;
    std::uint64_t iterations = 0; ///< the number of ops that most steps have

    std::size_t matchedSteps() const noexcept { return steps - unmatched.size(); }
};

/// `plan` must be compiled with CompileOptions::fuse false.
/// Throws like readTracedOps.
Overlay overlay(const Graph& graph, const Plan& plan, const std::filesystem::path& trace,
                const ReadProgress& progress = {});

/// The overlay as a report (resources/schema/report.schema.json). Rows with a time of the profile name the
/// profiler in "measured_by"; the other rows have only their prediction.
std::string toJson(const Overlay& overlay, const std::string& trace, RunReport report);
/// The share of the profile's op time that matched, the longest steps, and the steps and ops that did not
/// match.
std::string toText(const Overlay& overlay, const std::string& trace, const Plan& plan);

} // namespace twb
