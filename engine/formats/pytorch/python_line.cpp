#include "formats/pytorch/python_line.h"

#include <algorithm>
#include <cctype>

namespace twb::python {
namespace {

constexpr std::size_t npos = std::string_view::npos;

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::size_t wordEnd(std::string_view code, std::size_t at) {
    while (at < code.size() && isWord(code[at])) ++at;
    return at;
}

std::size_t skipSpaces(std::string_view code, std::size_t at) {
    return std::min(code.find_first_not_of(" \t", at), code.size());
}

/// Whether all brackets and quotes are closed and no operator outside of brackets ends an expression.
bool isOneExpression(std::string_view code) {
    std::string open;
    char quote = 0;
    for (const char c : code) {
        if (c == '\\') return false;
        if (quote != 0) {
            if (c == quote) quote = 0;
            continue;
        }
        if (c == '"' || c == '\'') quote = c;
        if (c == '(' || c == '[' || c == '{') open += c;
        if (c == ')' || c == ']' || c == '}') {
            if (open.empty()) return false;
            open.pop_back();
        }
        if (open.empty() && (c == ',' || c == ';' || c == '=' || c == ':')) return false;
    }
    return !code.empty() && open.empty() && quote == 0;
}

} // namespace

std::optional<std::string> codeOf(const std::string& line) {
    const std::size_t hash = line.find('#');
    if (hash == std::string::npos) return line;
    const std::string code = line.substr(0, hash);
    if (code.find_first_of("'\"") != std::string::npos && std::count(code.begin(), code.end(), '"') % 2 != 0)
        return std::nullopt;
    const std::size_t end = code.find_last_not_of(" \t");
    return end == std::string::npos ? std::string() : code.substr(0, end + 1);
}

std::size_t closing(std::string_view code, std::size_t open) {
    int depth = 0;
    for (std::size_t at = open; at < code.size(); ++at) {
        if (code[at] == '(' || code[at] == '[' || code[at] == '{') ++depth;
        if (code[at] == ')' || code[at] == ']' || code[at] == '}')
            if (--depth == 0) return at;
    }
    return npos;
}

std::optional<Assignment> assignmentOf(std::string_view code) {
    Assignment out;
    out.start = skipSpaces(code, 0);
    std::size_t end = out.start;
    while (end < code.size() && (isWord(code[end]) || code[end] == '.')) ++end;
    const std::size_t equals = skipSpaces(code, end);
    if (end == out.start || equals + 1 >= code.size() || code[equals] != '=' || code[equals + 1] == '=')
        return std::nullopt;
    out.name = code.substr(out.start, end - out.start);
    if (const std::size_t dot = out.name.rfind('.'); dot != npos) {
        out.owner = out.name.substr(0, dot);
        out.name.remove_prefix(dot + 1);
    }
    out.value = code.substr(skipSpaces(code, equals + 1));
    out.isWhole = isOneExpression(out.value);
    return out;
}

bool isPrimary(std::string_view expression) {
    for (std::size_t at = 0; at < expression.size(); ++at) {
        const char c = expression[at];
        if (c == '(' || c == '[') {
            at = closing(expression, at);
            if (at == npos) return false;
        } else if (!isWord(c) && c != '.') {
            return false;
        }
    }
    return !expression.empty() && !std::isdigit(static_cast<unsigned char>(expression.front()));
}

std::size_t onlyUse(std::string_view code, std::string_view variable) {
    std::size_t found = npos;
    char quote = 0;
    for (std::size_t at = 0; at < code.size();) {
        const char c = code[at];
        if (quote != 0 || c == '"' || c == '\'') {
            if (quote == 0)
                quote = c;
            else if (c == quote)
                quote = 0;
            ++at;
            continue;
        }
        if (!isWord(c)) {
            ++at;
            continue;
        }
        const std::size_t end = wordEnd(code, at);
        if (code.substr(at, end - at) == variable && (at == 0 || code[at - 1] != '.')) {
            const std::size_t next = skipSpaces(code, end);
            const bool isTarget =
                next < code.size() && code[next] == '=' && (next + 1 >= code.size() || code[next + 1] != '=');
            if (found != npos || isTarget) return npos;
            found = at;
        }
        at = end;
    }
    return found;
}

} // namespace twb::python
