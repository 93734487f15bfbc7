#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace twb {

// The pictures of a report's page, as SVG that takes its colours from the page's style. "" where the report
// has nothing to draw.

std::string graphPicture(const nlohmann::json& report);
std::string timelinePicture(const nlohmann::json& report);
std::string memoryPicture(const nlohmann::json& report);

/// The class whose colour a device has: "cpu", "gpu0", "gpu1".
std::string deviceClass(const std::string& device);

} // namespace twb
