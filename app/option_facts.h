#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace twb {

// Facts about commands and options that the help, the man pages and the completion share.

/// The commands of a program, without the hidden ones.
std::vector<const CLI::App*> commandsOf(const CLI::App& app);
/// "-h", "--help" …, without positional arguments and hidden ones.
std::vector<const CLI::Option*> optionsOf(const CLI::App& command);
std::vector<const CLI::Option*> positionalsOf(const CLI::App& command);

/// False for flags.
bool takesValue(const CLI::Option& option);
/// Whether the option may be given several times, or a positional argument takes several words.
bool isRepeatable(const CLI::Option& option);
/// The placeholder of the value: "NODE=FILE".
std::string valueName(const CLI::Option& option);
/// The possible values; empty if they are not a short list.
std::vector<std::string> choicesOf(const CLI::Option& option);
/// "from 1 to 1024"; empty without limits.
std::string rangeOf(const CLI::Option& option);
/// The suffixes of files that the option's placeholder or description names: ".twb". Empty: any file.
std::vector<std::string> suffixesOf(const CLI::Option& option);

} // namespace twb
