#pragma once

#include "runtime/plan.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace twb {

/// A plan as far as figures of its runs need it: streams, memory, steps with their dependencies, transfers,
/// and the devices with their profiles. Attributes, kernels and bodies are left out.
nlohmann::json planToJson(const Plan& plan);

/// The plan of planToJson(). Its backends only describe devices; they allocate nothing and have no streams.
/// Throws nlohmann::json::exception, or Error(badFile) if it is inconsistent.
std::shared_ptr<const Plan> planFromJson(const nlohmann::json& json);

} // namespace twb
