#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

struct TensorStatistics;

/// Where a run stops at a node, and when: before it, after it, or after it where its output is as it says.
/// What is computed stays the same.
struct Breakpoint {
    enum class Kind : std::uint8_t { before, after, nanOrInf, condition };
    enum class Statistic : std::uint8_t { min, max, mean, std, absMax, nan, inf };
    enum class Relation : std::uint8_t { less, atMost, equal, notEqual, atLeast, greater };

    Kind kind = Kind::after;
    Statistic statistic = Statistic::max; ///< of a condition: of the finite elements, or a count
    Relation relation = Relation::greater;
    double limit = 0; ///< that the statistic is compared with; finite
    bool enabled = true;

    bool operator==(const Breakpoint&) const = default;

    /// As project files have it: "after", "nan or inf", "absmax > 1000", "off before".
    std::string toString() const;
    /// Nothing for any other text.
    static std::optional<Breakpoint> parse(std::string_view text);
    /// Whether the output decides.
    bool looks() const noexcept { return kind == Kind::nanOrInf || kind == Kind::condition; }
    /// Of one that looks: what it found in an output, as "max is 3.2" or "2 NaN, 0 inf"; nothing where the
    /// run goes on. Of no finite element there is no min, max, mean, std and absmax.
    std::optional<std::string> found(const TensorStatistics& statistics) const;
};

std::string_view name(Breakpoint::Statistic statistic) noexcept; ///< "absmax"
std::string_view name(Breakpoint::Relation relation) noexcept;   ///< ">="

} // namespace twb
