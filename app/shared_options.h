#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace twb {

/// `--iterations N`, from 1 to 1,000,000,000.
void addIterations(CLI::App& command, std::optional<std::int64_t>& into, const std::string& doc);

/// `--allow-outside`, for makeProjectFiles().
void addAllowOutside(CLI::App& command, bool& into);

} // namespace twb
