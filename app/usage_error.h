#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace twb {

/// A sentence about a command line that CLI11 rejected: the wrong word, and a near match if there is one. The
/// program may have commands or not.
std::string usageSentence(const CLI::App& app, const CLI::ParseError& error);

} // namespace twb
