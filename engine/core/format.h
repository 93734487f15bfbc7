#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace twb {

/// Numbers as text for users, with one format for each quantity in all views.

/// In decimal units with three digits: "0 B", "512 B", "92.2 kB", "1.50 GB".
std::string formatBytes(double bytes);
/// With all digits, in groups: "92,160 B".
std::string formatExactBytes(std::uint64_t bytes);
/// Takes nanoseconds; always prints ms so that columns compare: "0.012 ms", "1,234 ms".
std::string formatMs(double ns);
/// Takes 10^9 bytes per second: "7.8 GB/s".
std::string formatRate(double gbPerSecond);

/// `text` for a terminal or a cell of one line: control characters become "\n" or "\x1b", invalid UTF-8
/// becomes U+FFFD.
std::string printable(std::string_view text);
/// The number of terminal columns of printable() UTF-8; wide East Asian characters and emoji take two.
int displayWidth(std::string_view text) noexcept;

} // namespace twb
