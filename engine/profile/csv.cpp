#include "profile/csv.h"

namespace twb {
namespace {

std::string csvCell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

} // namespace

std::string csvLine(const std::vector<std::string>& cells) {
    std::string out;
    for (const std::string& cell : cells) {
        if (&cell != &cells.front()) out += ',';
        out += csvCell(cell);
    }
    return out + "\r\n";
}

} // namespace twb
