#include "graph/source_line.h"

#include <fmt/format.h>

#include <charconv>

namespace twb {

std::string toString(const SourceLine& source) {
    return source.function.empty() ? fmt::format("{}:{}", source.file, source.line)
                                   : fmt::format("{}:{} in {}", source.file, source.line, source.function);
}

std::string toShortString(const SourceLine& source) {
    SourceLine brief = source;
    if (const std::size_t slash = brief.file.find_last_of("/\\"); slash != std::string::npos)
        brief.file.erase(0, slash + 1);
    return toString(brief);
}

std::optional<SourceLine> parseSourceLine(std::string_view text) {
    const auto place = [](std::string_view part) -> std::optional<SourceLine> {
        const std::size_t colon = part.rfind(':');
        if (colon == std::string_view::npos || colon == 0) return std::nullopt;
        const char* end = part.data() + part.size();
        int line = 0;
        const auto [stop, error] = std::from_chars(part.data() + colon + 1, end, line);
        if (error != std::errc() || stop != end || line < 1 || line > 999'999'999 || part[colon + 1] == '0')
            return std::nullopt;
        return SourceLine{std::string(part.substr(0, colon)), line, {}};
    };
    // A folder's name may contain " in ", so a line number must stand before the function.
    constexpr std::string_view kIn = " in ";
    if (const std::size_t in = text.rfind(kIn); in != std::string_view::npos) {
        std::optional<SourceLine> source = place(text.substr(0, in));
        if (source && in + kIn.size() < text.size()) {
            source->function = text.substr(in + kIn.size());
            return source;
        }
    }
    return place(text);
}

} // namespace twb
