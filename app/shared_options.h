#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace twb {

/// `--iterations N`, from 1 to 1,000,000,000.
void addIterations(CLI::App& command, std::optional<std::int64_t>& into, const std::string& doc);

// For CLI::Option::check(). CLI11's own ranges accept NaN, and wrap a negative number for an unsigned type.

/// A finite number from `least` to `most`.
std::function<std::string(const std::string&)>
numberBetween(double least, double most = std::numeric_limits<double>::max());
/// A finite number above `least` and below `most`.
std::function<std::string(const std::string&)>
numberInside(double least, double most = std::numeric_limits<double>::infinity());
/// A whole number from `least` to `most`.
std::function<std::string(const std::string&)>
wholeBetween(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// `--allow-outside`, for makeProjectFiles().
void addAllowOutside(CLI::App& command, bool& into);

} // namespace twb
