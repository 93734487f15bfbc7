#pragma once

#include <string>
#include <vector>

namespace twb {

/// One record of a CSV file with its line end. Cells with commas, quotes or line ends are quoted (RFC 4180).
std::string csvLine(const std::vector<std::string>& cells);

} // namespace twb
