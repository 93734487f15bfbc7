#include "app/terminal.h"

#include "core/error.h"
#include "core/format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace twb {
namespace {

bool isCapable(int descriptor) {
    const char* term = std::getenv("TERM");
    return isatty(descriptor) == 1 && term && std::string_view(term) != "dumb";
}

[[noreturn]] void outputFailed() {
    throw Error(ErrorCode::io, fmt::format("cannot write the results to stdout: {}", std::strerror(errno)));
}

} // namespace

void printResult(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) outputFailed();
}

std::string jsonText(const nlohmann::ordered_json& document) {
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

void printJson(const nlohmann::ordered_json& document) { printResult(jsonText(document)); }

void finishOutput() {
    if (std::fflush(stdout) != 0) outputFailed();
}

void printMessage(std::string_view sentence) {
    const std::string line = "twb: " + printable(sentence) + '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

bool stdoutHasColor() {
    const char* off = std::getenv("NO_COLOR");
    return isCapable(STDOUT_FILENO) && !(off && *off);
}

bool stderrIsTerminal() { return isCapable(STDERR_FILENO); }

std::function<void(double)> ReadingLine::progress() {
    if (!stderrIsTerminal()) return {};
    return [this](double share) {
        const int percent = static_cast<int>(100 * share);
        if (percent == m_percent) return;
        m_percent = percent;
        fmt::print(stderr, "\r\x1b[K{}: {} %", printable(m_text), percent);
        std::fflush(stderr);
    };
}

void ReadingLine::clear() {
    if (m_percent >= 0) fmt::print(stderr, "\r\x1b[K");
    m_percent = -1;
}

} // namespace twb
