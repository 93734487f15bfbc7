#pragma once

#include <string>
#include <string_view>

namespace twb {

/// The text of an exception of nlohmann::json (`what()`) in plain words: what is wrong, without the place and
/// the library's terms, in one line.
std::string jsonFault(std::string_view what);

} // namespace twb
