#include "formats/pytorch/python_source.h"

#include "core/error.h"
#include "formats/model_formats.h"
#include "formats/project.h"
#include "formats/pytorch/capture_record.h"

#include <utility>

namespace twb {

PythonSource::PythonSource(std::string capture) : m_capture(std::move(capture)) {}

const std::vector<std::string>& PythonSource::linesOf(const std::string& file) {
    constexpr std::size_t kLargest = 16 << 20;
    const auto [known, fresh] = m_lines.try_emplace(file);
    std::vector<std::string>& lines = known->second;
    if (!fresh) return lines;
    std::string text;
    try {
        text = readFile(file, kLargest);
    } catch (const Error&) {
        return lines;
    }
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (isCapture(m_capture))
        for (const capture::Location& at : capture::readCapture(std::exchange(m_capture, {})).locations)
            if (!at.text.empty()) m_captured[at.file].emplace(at.line, at.text);
    if (const auto captured = m_captured.find(file); captured != m_captured.end())
        for (const auto& [number, before] : captured->second) {
            const auto index = static_cast<std::size_t>(number) - 1;
            const bool isThere = number > 0 && index < lines.size();
            const std::size_t first = isThere ? lines[index].find_first_not_of(" \t") : std::string::npos;
            // A capture has the beginning of a long line.
            if (first != std::string::npos && lines[index].compare(first, before.size(), before) == 0)
                continue;
            m_changed.insert(file);
            lines.clear();
            break;
        }
    return lines;
}

ReadLine PythonSource::reader() {
    return [this](const std::string& file, int line) -> std::optional<std::string> {
        const std::vector<std::string>& lines = linesOf(file);
        const auto index = static_cast<std::size_t>(line) - 1;
        if (line < 1 || index >= lines.size()) return std::nullopt;
        return lines[index];
    };
}

} // namespace twb
