#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// `; did you mean "images" or "image"?` for the names most like `wanted`, or nothing when none is like it.
std::string didYouMean(std::string_view wanted, const std::vector<std::string>& names);

} // namespace twb
