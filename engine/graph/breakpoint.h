#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct TensorStatistics;

/// A condition at which a run stops at a node: before it, after it, or only if an input or an output meets a
/// condition. Breakpoints never change results.
struct Breakpoint {
    enum class Kind : std::uint8_t {
        before,
        input, ///< before the node, if one of its inputs meets the condition
        after,
        nanOrInf,  ///< after the node, if an output has a NaN or an inf
        condition, ///< after the node, if one of its outputs meets the condition
    };
    enum class Statistic : std::uint8_t { min, max, mean, std, absMax, nan, inf };
    enum class Relation : std::uint8_t { less, atMost, equal, notEqual, atLeast, greater };

    Kind kind = Kind::after;
    Statistic statistic = Statistic::max; ///< for conditions: of the finite elements, or a count
    Relation relation = Relation::greater;
    double limit = 0; ///< compared with the statistic; finite
    bool enabled = true;

    auto operator<=>(const Breakpoint&) const = default;

    /// The text in project files: "after", "nan or inf", "absmax > 1000", "input max > 3", "off before".
    std::string toString() const;
    /// Nothing if the text is not a breakpoint.
    static std::optional<Breakpoint> parse(std::string_view text);
    bool isBefore() const noexcept { return kind == Kind::before || kind == Kind::input; }
    /// Whether the breakpoint reads a tensor.
    bool looks() const noexcept { return kind != Kind::before && kind != Kind::after; }
    /// Whether both stop at the same place on the same condition; `enabled` does not count.
    bool isSameStop(const Breakpoint& other) const noexcept;
    /// For a breakpoint that reads a tensor: the reason to stop, such as "max is 3.2", "max of an input
    /// is 3.2" or "2 NaN, 0 inf"; nothing if the run continues. Without finite elements there is no min, max,
    /// mean, std and absmax.
    std::optional<std::string> found(const TensorStatistics& statistics) const;
};

/// The breakpoints of one node, sorted and without duplicates.
using Breakpoints = std::vector<Breakpoint>;

/// Adds a breakpoint. It replaces one that stops at the same place.
void put(Breakpoints& breakpoints, const Breakpoint& breakpoint);
/// Removes the breakpoint that stops at the same place.
void take(Breakpoints& breakpoints, const Breakpoint& breakpoint);
/// The text in project files: "before; off max > 3".
std::string toString(const Breakpoints& breakpoints);
/// Accepts any order. Nothing if the text is not a list of breakpoints.
std::optional<Breakpoints> parseBreakpoints(std::string_view text);

std::string_view name(Breakpoint::Statistic statistic) noexcept; ///< "absmax"
std::string_view name(Breakpoint::Relation relation) noexcept;   ///< ">="

} // namespace twb
