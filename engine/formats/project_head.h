#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace twb {

/// Refuses, with Error(badFile), text that is not of this format or that a newer program wrote. There is only
/// version 1 yet; once there is a second, this returns the number, and the reader reads by it what changed.
void checkProjectHead(std::string_view text, std::string_view format, const std::string& origin);

/// Throws Error(badFile) with line and column of the byte `position` (from 1), where JSON broke, and
/// nlohmann's message.
[[noreturn]] void refuseSyntax(std::string_view text, std::size_t position, const std::string& origin,
                               std::string_view problem);

} // namespace twb
