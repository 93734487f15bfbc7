#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace twb {

/// Refuses, with Error(badFile), text of another format or of a newer program. There is only version 1 so
/// far.
void checkProjectHead(std::string_view text, std::string_view format, const std::string& origin);

/// Throws Error(badFile) with the line and column of the byte `position` (from 1), and nlohmann's message.
[[noreturn]] void refuseSyntax(std::string_view text, std::size_t position, const std::string& origin,
                               std::string_view problem);

} // namespace twb
