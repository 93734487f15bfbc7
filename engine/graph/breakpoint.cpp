#include "graph/breakpoint.h"

#include "core/format.h"
#include "core/tensor_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace twb {
namespace {

constexpr std::string_view kOff = "off ";
constexpr std::string_view kInput = "input ";
constexpr std::string_view kNext = "; ";
constexpr std::string_view kNanOrInf = "nan or inf";
constexpr std::array<std::string_view, 7> kStatistics{"min", "max", "mean", "std", "absmax", "nan", "inf"};
constexpr std::array<std::string_view, 6> kRelations{"<", "<=", "==", "!=", ">=", ">"};

double valueOf(Breakpoint::Statistic statistic, const TensorStatistics& s) {
    switch (statistic) {
    case Breakpoint::Statistic::min:
        return s.min;
    case Breakpoint::Statistic::max:
        return s.max;
    case Breakpoint::Statistic::mean:
        return s.mean;
    case Breakpoint::Statistic::std:
        return s.std;
    case Breakpoint::Statistic::absMax:
        return s.absMax();
    case Breakpoint::Statistic::nan:
        return static_cast<double>(s.nan);
    case Breakpoint::Statistic::inf:
        return static_cast<double>(s.infinite);
    }
    return 0;
}

bool holds(double value, Breakpoint::Relation relation, double limit) {
    switch (relation) {
    case Breakpoint::Relation::less:
        return value < limit;
    case Breakpoint::Relation::atMost:
        return value <= limit;
    case Breakpoint::Relation::equal:
        return value == limit;
    case Breakpoint::Relation::notEqual:
        return value != limit;
    case Breakpoint::Relation::atLeast:
        return value >= limit;
    case Breakpoint::Relation::greater:
        return value > limit;
    }
    return false;
}

template <class Enum, std::size_t n>
std::optional<Enum> named(const std::array<std::string_view, n>& names, std::string_view text) {
    for (std::size_t i = 0; i < n; ++i)
        if (names[i] == text) return static_cast<Enum>(i);
    return std::nullopt;
}

/// Parses a finite number in JSON's notation.
std::optional<double> number(std::string_view text) {
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    const bool isPlain =
        !digits.empty() && digits.front() >= '0' && digits.front() <= '9' &&
        (digits.front() != '0' || digits.size() == 1 || digits[1] == '.' || digits[1] == 'e');
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (!isPlain || error != std::errc() || stop != end || digits.ends_with('.') ||
        digits.find(".e") != std::string_view::npos || digits.find('E') != std::string_view::npos)
        return std::nullopt;
    return value;
}

} // namespace

std::string_view name(Breakpoint::Statistic statistic) noexcept {
    return kStatistics[static_cast<std::size_t>(statistic)];
}

std::string_view name(Breakpoint::Relation relation) noexcept {
    return kRelations[static_cast<std::size_t>(relation)];
}

std::string Breakpoint::toString() const {
    const std::string_view off = enabled ? "" : kOff;
    switch (kind) {
    case Kind::before:
        return fmt::format("{}before", off);
    case Kind::after:
        return fmt::format("{}after", off);
    case Kind::nanOrInf:
        return fmt::format("{}{}", off, kNanOrInf);
    case Kind::input:
    case Kind::condition:
        break;
    }
    return fmt::format("{}{}{} {} {}", off, kind == Kind::input ? kInput : "", name(statistic),
                       name(relation), limit);
}

std::optional<Breakpoint> Breakpoint::parse(std::string_view text) {
    Breakpoint out;
    if (text.starts_with(kOff)) {
        out.enabled = false;
        text.remove_prefix(kOff.size());
    }
    if (text == "before" || text == "after" || text == kNanOrInf) {
        out.kind = text == "before" ? Kind::before : text == "after" ? Kind::after : Kind::nanOrInf;
        return out;
    }
    out.kind = Kind::condition;
    if (text.starts_with(kInput)) {
        out.kind = Kind::input;
        text.remove_prefix(kInput.size());
    }
    const std::size_t first = text.find(' ');
    const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto statistic = named<Statistic>(kStatistics, text.substr(0, first));
    const auto relation = named<Relation>(kRelations, text.substr(first + 1, second - first - 1));
    const auto limit = number(text.substr(second + 1));
    if (!statistic || !relation || !limit) return std::nullopt;
    out.statistic = *statistic;
    out.relation = *relation;
    out.limit = *limit;
    return out;
}

std::optional<std::string> Breakpoint::found(const TensorStatistics& s) const {
    if (kind == Kind::nanOrInf) {
        if (s.nan == 0 && s.infinite == 0) return std::nullopt;
        return fmt::format("{} NaN, {} inf", s.nan, s.infinite);
    }
    const bool counts = statistic == Statistic::nan || statistic == Statistic::inf;
    if (!looks() || (!counts && s.finite == 0)) return std::nullopt;
    const double value = valueOf(statistic, s);
    if (!holds(value, relation, limit)) return std::nullopt;
    return fmt::format("{}{} is {}", name(statistic), kind == Kind::input ? " of an input" : "",
                       formatNumber(value));
}

bool Breakpoint::isSameStop(const Breakpoint& other) const noexcept {
    Breakpoint alike = other;
    alike.enabled = enabled;
    return alike == *this;
}

void take(Breakpoints& breakpoints, const Breakpoint& breakpoint) {
    std::erase_if(breakpoints, [&](const Breakpoint& b) { return b.isSameStop(breakpoint); });
}

void put(Breakpoints& breakpoints, const Breakpoint& breakpoint) {
    take(breakpoints, breakpoint);
    const auto inOrder = [](const Breakpoint& a, const Breakpoint& b) { return a < b; };
    breakpoints.insert(std::upper_bound(breakpoints.begin(), breakpoints.end(), breakpoint, inOrder),
                       breakpoint);
}

std::string toString(const Breakpoints& breakpoints) {
    std::string out;
    for (const Breakpoint& breakpoint : breakpoints) {
        if (!out.empty()) out += kNext;
        out += breakpoint.toString();
    }
    return out;
}

std::optional<Breakpoints> parseBreakpoints(std::string_view text) {
    Breakpoints out;
    while (true) {
        const std::size_t end = text.find(kNext);
        const std::optional<Breakpoint> one = Breakpoint::parse(text.substr(0, end));
        if (!one) return std::nullopt;
        put(out, *one);
        if (end == std::string_view::npos) return out;
        text.remove_prefix(end + kNext.size());
    }
}

} // namespace twb
