#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// Words that can stand at the cursor.
struct Completion {
    struct Candidate {
        std::string word; ///< the whole word. After a last '=', '.', ':' or ',' it goes on
        std::string doc;  ///< may be empty
    };
    enum class Paths { none, files, folders };

    std::vector<Candidate> candidates;
    /// What the shell adds: files whose names end with one of `suffixes` (empty: any), and folders.
    Paths paths = Paths::none;
    std::vector<std::string> suffixes;
    std::string beforePath; ///< the part of the word before the path: "logits="
};

/// Completes the last of `words`, a command line without shell quotes that begins with the program's name.
/// Options and their values come from `program`, names of nodes from the project on the command line.
/// Never throws: an unreadable project has no nodes.
Completion complete(const CLI::App& program, const std::vector<std::string>& words);

/// For the scripts of completionScript(): a line with the paths ("none", "files" or "folders"), beforePath
/// and the suffixes, separated by tabs; then a line per candidate, with a tab before its doc.
std::string toLines(const Completion& completion);

enum class Shell : std::uint8_t { bash, zsh, fish };

/// The script with which `shell` asks `twb __complete WORD…` for the candidates of twb and tensor-workbench.
std::string_view completionScript(Shell shell) noexcept;

} // namespace twb
