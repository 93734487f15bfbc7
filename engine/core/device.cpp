#include "core/device.h"

#include <charconv>

namespace twb {
namespace {

constexpr int kLast = 63; ///< the largest rank and the largest index

/// The number that the whole text is, from 0 to kLast.
std::optional<int> numberIn(std::string_view text) noexcept {
    int number = -1;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < 0 || number > kLast) return std::nullopt;
    return number;
}

} // namespace

std::string Device::toString() const {
    const std::string owner = rank == 0 ? std::string() : "rank" + std::to_string(rank) + "/";
    switch (kind) {
    case Kind::cpu:
        return owner + "cpu";
    case Kind::cuda:
        return owner + "cuda:" + std::to_string(index);
    case Kind::automatic:
        return "auto";
    }
    return {};
}

std::optional<Device> Device::parse(std::string_view text) noexcept {
    if (text == "auto") return automatic();
    constexpr std::string_view owner = "rank";
    int rank = 0;
    if (text.starts_with(owner)) {
        const auto slash = text.find('/');
        if (slash == std::string_view::npos) return std::nullopt;
        const auto number = numberIn(text.substr(owner.size(), slash - owner.size()));
        if (!number) return std::nullopt;
        rank = *number;
        text.remove_prefix(slash + 1);
    }
    if (text == "cpu") return cpu(rank);
    if (text == "cuda") return cuda(0, rank);
    constexpr std::string_view prefix = "cuda:";
    if (!text.starts_with(prefix)) return std::nullopt;
    const auto index = numberIn(text.substr(prefix.size()));
    return index ? std::optional(cuda(*index, rank)) : std::nullopt;
}

} // namespace twb
