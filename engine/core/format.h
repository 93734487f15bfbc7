#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace twb {

/// Figures as people read them, the same in every view, table and message.

/// Decimal units, three digits: "0 B", "512 B", "92.2 kB", "1.50 GB".
std::string formatBytes(double bytes);
/// Every byte, in groups: "92,160 B".
std::string formatExactBytes(std::uint64_t bytes);
/// From nanoseconds, always in ms so that columns compare: "0.012 ms", "1,234 ms".
std::string formatMs(double ns);
/// From 10^9 bytes a second: "7.8 GB/s".
std::string formatRate(double gbPerSecond);

/// `text` as it may be shown in a terminal or a one-line cell: control characters as "\n" or "\x1b", bytes
/// that are not UTF-8 as U+FFFD.
std::string printable(std::string_view text);
/// Columns that printable() UTF-8 takes in a terminal: wide East Asian characters and emoji take two.
int displayWidth(std::string_view text) noexcept;

} // namespace twb
