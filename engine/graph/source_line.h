#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The line of a program that a node was imported from.
struct SourceLine {
    std::string file;     ///< absolute, or as the imported file names it; never empty
    int line = 0;         ///< 1 to 999,999,999
    std::string function; ///< may be empty; "<module>" at the top level of a Python file
    bool operator==(const SourceLine&) const = default;
    auto operator<=>(const SourceLine&) const = default;
};

/// "net.py:11 in forward", or "net.py:11" without a function.
std::string toString(const SourceLine& source);
/// The same without the folders of the file.
std::string toShortString(const SourceLine& source);
/// Nothing if the text is not of this form.
std::optional<SourceLine> parseSourceLine(std::string_view text);

} // namespace twb
