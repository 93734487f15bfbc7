#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace twb {

/// A page of section 1 of the system's manual, as roff.
struct ManPage {
    std::string name; ///< "twb-run"
    std::string text;
};

/// The page of a program, then one page per command, from the options that `--help` shows. `others` are
/// names of further pages, for the first page's section "See also".
std::vector<ManPage> manPages(const CLI::App& program, const std::vector<std::string>& others);

} // namespace twb
