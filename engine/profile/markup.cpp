#include "profile/markup.h"

#include "core/format.h"

namespace twb {
namespace {

void addLine(std::string& out, std::string_view line) {
    const std::string shown = printable(line);
    for (std::size_t at = 0; at < shown.size(); ++at) {
        // U+FFFE and U+FFFF are not characters, although UTF-8 can encode them.
        if (shown.compare(at, 2, "\xEF\xBF") == 0 && (shown[at + 2] == '\xBE' || shown[at + 2] == '\xBF')) {
            out += "\uFFFD";
            at += 2;
            continue;
        }
        switch (shown[at]) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        case '\'':
            out += "&#39;";
            break;
        default:
            out += shown[at];
        }
    }
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t newline = text.find('\n', at);
        const std::size_t end = newline == std::string_view::npos ? text.size() : newline;
        addLine(out, text.substr(at, end - at));
        if (newline != std::string_view::npos) out += '\n';
        at = end + 1;
    }
    return out;
}

} // namespace twb
