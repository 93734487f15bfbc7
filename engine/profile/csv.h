#pragma once

#include <string>
#include <vector>

namespace twb {

/// One record of a CSV file, with its line end: a cell that holds commas, quotes or line ends is quoted, as
/// RFC 4180 has it.
std::string csvLine(const std::vector<std::string>& cells);

} // namespace twb
