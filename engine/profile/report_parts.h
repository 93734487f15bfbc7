#pragma once

#include "profile/report.h"

#include <nlohmann/json.hpp>

namespace twb {

// Parts of a report as JSON, each in its own file; report.h describes them.

nlohmann::ordered_json graphToJson(const Graph& graph, const Plan& plan);
nlohmann::ordered_json timelineToJson(const RunTimeline& timeline, const Plan& plan);
nlohmann::ordered_json memoryToJson(const RunTimeline& timeline, const Plan& plan);

} // namespace twb
