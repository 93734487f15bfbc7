#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct TensorStatistics;

/// Where a run stops at a node, and when: before it, after it, or only where an input or an output is as it
/// says. What is computed stays the same.
struct Breakpoint {
    enum class Kind : std::uint8_t {
        before,
        input, ///< before it, where one of its inputs is as the condition says
        after,
        nanOrInf,  ///< after it, of an output
        condition, ///< after it, where one of its outputs is as the condition says
    };
    enum class Statistic : std::uint8_t { min, max, mean, std, absMax, nan, inf };
    enum class Relation : std::uint8_t { less, atMost, equal, notEqual, atLeast, greater };

    Kind kind = Kind::after;
    Statistic statistic = Statistic::max; ///< of a condition: of the finite elements, or a count
    Relation relation = Relation::greater;
    double limit = 0; ///< that the statistic is compared with; finite
    bool enabled = true;

    auto operator<=>(const Breakpoint&) const = default;

    /// As project files have it: "after", "nan or inf", "absmax > 1000", "input max > 3", "off before".
    std::string toString() const;
    /// Nothing for any other text.
    static std::optional<Breakpoint> parse(std::string_view text);
    bool isBefore() const noexcept { return kind == Kind::before || kind == Kind::input; }
    /// Whether a tensor decides.
    bool looks() const noexcept { return kind != Kind::before && kind != Kind::after; }
    /// Whether it stops where the other one does, be they enabled or not.
    bool isSameStop(const Breakpoint& other) const noexcept;
    /// Of one that looks: what it found in a tensor, as "max is 3.2", "max of an input is 3.2" or "2 NaN, 0
    /// inf"; nothing where the run goes on. Of no finite element there is no min, max, mean, std and absmax.
    std::optional<std::string> found(const TensorStatistics& statistics) const;
};

/// Those of one node: in order, none twice.
using Breakpoints = std::vector<Breakpoint>;

/// Adds one, in the place of the one that stops where it does.
void put(Breakpoints& breakpoints, const Breakpoint& breakpoint);
/// Takes away the one that stops where this does.
void take(Breakpoints& breakpoints, const Breakpoint& breakpoint);
/// As project files have them: "before; off max > 3".
std::string toString(const Breakpoints& breakpoints);
/// In whatever order they are named; nothing for any other text.
std::optional<Breakpoints> parseBreakpoints(std::string_view text);

std::string_view name(Breakpoint::Statistic statistic) noexcept; ///< "absmax"
std::string_view name(Breakpoint::Relation relation) noexcept;   ///< ">="

} // namespace twb
