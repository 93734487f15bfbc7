#include "app/shared_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace twb {
namespace {

/// Nothing unless the whole text is a number.
template <class Number> std::optional<Number> numberIn(const std::string& text) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

template <class Number>
std::function<std::string(const std::string&)> between(const char* kind, Number least, Number most) {
    return [=](const std::string& text) -> std::string {
        const std::optional<Number> value = numberIn<Number>(text);
        if (value && *value >= least && *value <= most) return {}; // NaN is in no range
        return most == std::numeric_limits<Number>::max()
                   ? fmt::format("{} is not a {} of at least {}", text, kind, least)
                   : fmt::format("{} is not a {} from {} to {}", text, kind, least, most);
    };
}

} // namespace

std::function<std::string(const std::string&)> numberBetween(double least, double most) {
    return between("number", least, most);
}

std::function<std::string(const std::string&)> numberInside(double least, double most) {
    return [=](const std::string& text) -> std::string {
        const std::optional<double> value = numberIn<double>(text);
        if (value && *value > least && *value < most) return {}; // NaN is in no range
        return std::isinf(most) ? fmt::format("{} is not a number above {}", text, least)
                                : fmt::format("{} is not a number above {} and below {}", text, least, most);
    };
}

std::function<std::string(const std::string&)> wholeBetween(std::int64_t least, std::int64_t most) {
    return between("whole number", least, most);
}

void addIterations(CLI::App& command, std::optional<std::int64_t>& into, const std::string& doc) {
    command.add_option("--iterations", into, doc)->type_name("N")->check(wholeBetween(1, 1'000'000'000));
}

void addAllowOutside(CLI::App& command, bool& into) {
    command.add_flag("--allow-outside", into, "Allow tensor files outside the project's folder");
}

} // namespace twb
