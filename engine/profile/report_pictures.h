#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace twb {

// The pictures of a report's page, as SVG with the colours of the page's style. "" if the report has nothing
// to draw.

std::string graphPicture(const nlohmann::json& report);
std::string timelinePicture(const nlohmann::json& report);
std::string memoryPicture(const nlohmann::json& report);

/// The CSS class for a device's colour: "cpu", "gpu0", "gpu1".
std::string deviceClass(const std::string& device);

} // namespace twb
