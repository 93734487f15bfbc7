#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// `; did you mean "images" or "image"?` with the names most similar to `wanted`; empty if none is similar.
std::string didYouMean(std::string_view wanted, const std::vector<std::string>& names);

} // namespace twb
