#pragma once

#include <string_view>

namespace twb {

/// Results: to stdout. Throws Error(io) when they cannot be written (a full disk); finishOutput() does so for
/// what was still buffered.
void printResult(std::string_view text);
void finishOutput();
/// A message: a line to stderr, `twb: ` before it, control characters made visible.
void printMessage(std::string_view sentence);
/// Whether stdout and stderr are terminals that may be coloured and drawn over ($NO_COLOR, $TERM=dumb
/// respected).
bool stdoutHasColor();
bool stderrIsTerminal();

} // namespace twb
