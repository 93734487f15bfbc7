#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace twb {

/// What is wrong with a command line that CLI11 refused: which word of it, and what was meant perhaps.
std::string usageSentence(const CLI::App& app, const CLI::ParseError& error);

} // namespace twb
