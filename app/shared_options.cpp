#include "app/shared_options.h"

#include <fmt/format.h>

#include <charconv>

namespace twb {
namespace {

/// CLI11's own message for "1e5" would only say that it is out of range.
std::string refusalOfCount(const std::string& text) {
    constexpr std::int64_t kMost = 1'000'000'000;
    std::int64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, count);
    const bool isCount = error == std::errc() && at == end && count >= 1 && count <= kMost;
    return isCount ? "" : fmt::format("{} is not a whole number from 1 to {}", text, kMost);
}

} // namespace

void addIterations(CLI::App& command, std::optional<std::int64_t>& into, const std::string& doc) {
    command.add_option("--iterations", into, doc)->type_name("N")->check(refusalOfCount);
}

void addAllowOutside(CLI::App& command, bool& into) {
    command.add_flag("--allow-outside", into, "Allow tensor files outside the project's folder");
}

} // namespace twb
