#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace twb {

/// Results: to stdout. Throws Error(io) when they cannot be written (a full disk); finishOutput() does so for
/// what was still buffered.
void printResult(std::string_view text);
void finishOutput();
/// A JSON document as a result, indented; bytes that are not UTF-8 become U+FFFD.
void printJson(const nlohmann::ordered_json& document);
/// A message: a line to stderr, `twb: ` before it, control characters made visible.
void printMessage(std::string_view sentence);
/// Whether stdout and stderr are terminals that may be coloured and drawn over ($NO_COLOR, $TERM=dumb
/// respected).
bool stdoutHasColor();
bool stderrIsTerminal();

} // namespace twb
