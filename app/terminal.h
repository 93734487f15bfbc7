#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace twb {

/// Prints a result to stdout. Throws Error(io) if that fails (a full disk); finishOutput() does so for
/// buffered output.
void printResult(std::string_view text);
void finishOutput();
/// Prints an indented JSON document; bytes that are not UTF-8 become U+FFFD.
void printJson(const nlohmann::ordered_json& document);
/// Prints a message as a line on stderr, after `twb: `, with control characters made visible.
void printMessage(std::string_view sentence);
/// Whether stdout and stderr are terminals that allow colours and progress lines ($NO_COLOR and $TERM=dumb
/// disable them).
bool stdoutHasColor();
bool stderrIsTerminal();

} // namespace twb
