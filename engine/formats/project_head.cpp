#include "formats/project_head.h"

#include "core/error.h"
#include "core/json_fault.h"
#include "formats/project.h"
#include "formats/project_parts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace twb {
namespace {

using nlohmann::json;

/// The first pass: checks the format and the version. Stops as soon as both are known, usually after two
/// lines. The other keys depend on them.
class HeadReader {
public:
    std::optional<std::string> format;
    std::optional<std::string> version; ///< as in the file

    HeadReader(std::string_view text, const std::string& origin) : m_text(text), m_origin(origin) {}

    bool null() { return take("null"); }
    bool boolean(bool b) { return take(b ? "true" : "false"); }
    bool number_integer(std::int64_t i) { return take(std::to_string(i)); }
    bool number_unsigned(std::uint64_t i) { return take(std::to_string(i)); }
    bool number_float(double, const std::string& literal) { return take(literal); }
    bool string(const std::string& s) { return take(m_key == "version" ? "a string" : s); }
    bool binary(const json::binary_t&) { return false; }
    bool key(const std::string& key) {
        if (m_depth == 1) m_key = key;
        return true;
    }
    bool start_object(std::size_t) { return open(); }
    bool start_array(std::size_t) { return open(); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool parse_error(std::size_t position, const std::string&, const json::exception& problem) {
        refuseSyntax(m_text, position, m_origin, problem.what());
    }

private:
    bool open() {
        if (m_depth == 1 && m_key == "version") version = "a list or an object";
        ++m_depth;
        return true;
    }
    bool close() {
        --m_depth;
        return true;
    }
    bool take(std::string_view scalar) {
        if (m_depth == 1 && m_key == "format") format = scalar;
        if (m_depth == 1 && m_key == "version") version = scalar;
        return !(format && version);
    }

    std::string_view m_text;
    const std::string& m_origin;
    std::string m_key;
    int m_depth = 0;
};

} // namespace

void refuseSyntax(std::string_view text, std::size_t position, const std::string& origin,
                  std::string_view problem) {
    const std::string_view before = text.substr(0, position > 0 ? position - 1 : 0);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto newline = before.rfind('\n');
    const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    throw Error(ErrorCode::badFile, fmt::format("{}: line {}, column {}: not valid JSON: {}", origin, line,
                                                column, jsonFault(problem)));
}

void checkProjectHead(std::string_view text, std::string_view format, const std::string& origin) {
    HeadReader head(text, origin);
    json::sax_parse(text.begin(), text.end(), &head);
    const auto refuse = [&](const std::string& sentence) {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", origin, sentence));
    };
    if (head.format != format)
        refuse(fmt::format("not a Tensor Workbench {}: its \"format\" is not \"{}\"",
                           format == kProjectFormat ? "project" : "fragment", format));
    std::int64_t version = 0;
    const std::string written = head.version.value_or("missing");
    const char* end = written.data() + written.size();
    const auto [parsed, failed] = std::from_chars(written.data(), end, version);
    if (failed != std::errc() || parsed != end || version < 1)
        refuse(fmt::format("its \"version\" must be an integer from 1, but is {}", written.substr(0, 50)));
    if (version > kProjectVersion)
        refuse(fmt::format(
            "it was written by a newer Tensor Workbench (version {}; this one reads up to {}); update this "
            "program, or ask for a file of an older version",
            version, kProjectVersion));
}

} // namespace twb
