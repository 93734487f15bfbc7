#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace twb {

/// Prints a result to stdout. Throws Error(io) if that fails (a full disk); finishOutput() does so for
/// buffered output.
void printResult(std::string_view text);
void finishOutput();
/// The text of an indented JSON document, with a newline; bytes that are not UTF-8 become U+FFFD.
std::string jsonText(const nlohmann::ordered_json& document);
/// Prints jsonText().
void printJson(const nlohmann::ordered_json& document);
/// Prints a message as a line on stderr, after `twb: `, with control characters made visible.
void printMessage(std::string_view sentence);
/// Whether stdout and stderr are terminals that allow colours and progress lines ($NO_COLOR and $TERM=dumb
/// disable them).
bool stdoutHasColor();
bool stderrIsTerminal();

/// A line on stderr, on a terminal only, that shows how much of a file was read.
class ReadingLine {
public:
    explicit ReadingLine(std::string text) : m_text(std::move(text)) {}
    ~ReadingLine() { clear(); }
    ReadingLine(const ReadingLine&) = delete;
    ReadingLine& operator=(const ReadingLine&) = delete;

    /// Shows a share, 0 to 1. Empty if there is no terminal. Must not outlive the line.
    std::function<void(double)> progress();
    void clear();

private:
    std::string m_text;
    int m_percent = -1;
};

} // namespace twb
