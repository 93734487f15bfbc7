#include "core/json_fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

/// Removes the text up to the end of `mark`, if it is there.
bool skip(std::string_view& text, std::string_view mark) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + mark.size());
    return true;
}

/// Shortened, and with a ? for each control character and each partial character at the cut.
std::string printable(std::string_view text) {
    constexpr std::size_t kLongest = 200;
    std::string out(text.substr(0, kLongest));
    for (char& c : out)
        if (c < 0x20 || c == 0x7f) c = '?';
    return text.size() > kLongest ? out + "…" : out;
}

/// "while parsing value - invalid literal; last read: 'x'"
std::string syntaxFault(std::string_view what, bool isAtStart) {
    if (what.find("unexpected end of input") != std::string_view::npos)
        return isAtStart ? "the text is empty" : "the text ends too early";
    skip(what, " - ");
    if (std::string_view read = what; read.starts_with("invalid literal") && skip(read, "last read: "))
        return "unexpected text " + printable(read);
    return printable(what);
}

} // namespace

// [json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - …
// [json.exception.out_of_range.403] key 'schema' not found
// [json.exception.type_error.304] cannot use at() with array
// [json.exception.type_error.302] type must be number, but is string
std::string jsonFault(std::string_view what) {
    if (what.starts_with('[')) skip(what, "] ");
    if (what.starts_with("parse error")) {
        const bool isAtStart = what.find(" line 1, column 1:") != std::string_view::npos;
        skip(what, ": ");
        if (what.starts_with("syntax error")) return syntaxFault(what, isAtStart);
    }
    if (std::string_view key = what; key.ends_with(" not found") && skip(key, "key '"))
        return printable(fmt::format("\"{}\" is missing", key.substr(0, key.rfind('\''))));
    if (what.starts_with("cannot use ") && what.rfind(' ') != std::string_view::npos)
        return printable(fmt::format("the type of a value must not be {}", what.substr(what.rfind(' ') + 1)));
    if (what.starts_with("type must be "))
        return printable(fmt::format("the {} of a value {}", what.substr(0, 4), what.substr(5)));
    return printable(what);
}

} // namespace twb
