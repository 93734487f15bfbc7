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
/// A number of things in three digits: "842", "11.7k", "2.36M", "1.10B".
std::string formatCount(double count);
/// A tensor's value or a loss, with this many digits: "0.125", "1e+20", "nan". A NaN has no sign, which an
/// arithmetic operation sets at random.
std::string formatNumber(double value, int digits = 6);
/// Takes nanoseconds; always prints ms so that columns compare: "0.012 ms", "1,234 ms".
std::string formatMs(double ns);
/// Nanoseconds in ms, for files.
constexpr double toMs(double ns) noexcept { return ns / 1e6; }
constexpr double toMs(std::int64_t ns) noexcept { return toMs(static_cast<double>(ns)); }
/// `part` in percent of `whole`; 0 if there is no whole.
constexpr double percent(double part, double whole) noexcept { return whole > 0 ? 100 * part / whole : 0; }
/// Takes 10^9 bytes per second: "7.8 GB/s".
std::string formatRate(double gbPerSecond);

/// A number and its noun: "1 op", "3 ops". The plural is `one` with an "s", unless given.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});

/// `text` for a terminal or a cell of one line: control characters become "\n" or "\x1b", invalid UTF-8
/// becomes U+FFFD.
std::string printable(std::string_view text);
/// The number of terminal columns of printable() UTF-8; wide East Asian characters and emoji take two.
int displayWidth(std::string_view text) noexcept;

} // namespace twb
