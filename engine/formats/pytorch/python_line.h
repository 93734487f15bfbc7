#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// One line of Python source, read as far as a safe change of it needs. A line whose meaning depends on other
/// lines (an open bracket, a string over several lines) is refused.
namespace twb::python {

/// The code of a line without its comment and the spaces before that. Nothing if quotes make that uncertain.
std::optional<std::string> codeOf(const std::string& line);

/// The position of the bracket that closes the one at `open`; npos if it is on another line.
std::size_t closing(std::string_view code, std::size_t open);

/// An assignment to one variable or attribute.
struct Assignment {
    std::size_t start = 0;  ///< of the target in the line
    std::string_view owner; ///< "self" of "self.scale = ..."; empty for a variable
    std::string_view name;
    std::string_view value;
    /// Whether the value is one expression that ends with the line, and not a tuple without parentheses.
    bool isWhole = false;
};

/// Views into `code`, which has no comment. Nothing for another statement.
std::optional<Assignment> assignmentOf(std::string_view code);

/// Whether an expression is a name with attributes, calls and subscripts, so that ".to(...)" may follow it.
bool isPrimary(std::string_view expression);

/// The position of a variable that a line reads exactly once; npos if it reads it never, more often, within a
/// string, or if the line assigns to it.
std::size_t onlyUse(std::string_view code, std::string_view variable);

} // namespace twb::python
