#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace twb {

/// A plan as far as figures of its runs need it: streams, memory, steps with their dependencies, transfers,
/// and the devices with their profiles. Attributes, kernels and bodies are left out.
nlohmann::json planToJson(const Plan& plan);

/// The plan of planToJson(). Its backends only describe devices; they allocate nothing and have no streams.
/// `rank`: whose plan it is. It names devices as that rank sees them; the result names them as rank 0 does
/// (graph/rank_lanes.h). Throws nlohmann::json::exception, or Error(badFile) if it is inconsistent.
std::shared_ptr<const Plan> planFromJson(const nlohmann::json& json, int rank = 0);

/// A whole number from `least` to `most`. Throws Error(badFile) that names `what` otherwise.
std::int64_t wholeFrom(const nlohmann::json& json, std::string_view what, std::int64_t least = 0,
                       std::int64_t most = INT64_MAX);

/// An enumerator of which `last` is the last one; with the same error.
template <class Enum> Enum enumFrom(const nlohmann::json& json, std::string_view what, Enum last) {
    return static_cast<Enum>(wholeFrom(json, what, 0, static_cast<std::int64_t>(last)));
}

/// Sets the times of records that were read from a file, so that the figures of a run can add and subtract
/// them.
class ReadTimes {
public:
    /// In ns. False if a duration is negative, or if the times of all records together do not fit in 64 bits.
    bool set(StepRecord& record, std::int64_t startNs, std::int64_t durationNs,
             std::optional<std::int64_t> waitNs);

private:
    bool count(std::int64_t ns) noexcept;

    std::int64_t m_sum = 0;
};

} // namespace twb
