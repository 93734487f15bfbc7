#include "core/device.h"

#include <charconv>

namespace twb {

std::string Device::toString() const {
    switch (kind) {
    case Kind::cpu:
        return "cpu";
    case Kind::cuda:
        return "cuda:" + std::to_string(index);
    case Kind::automatic:
        return "auto";
    }
    return {};
}

std::optional<Device> Device::parse(std::string_view text) noexcept {
    if (text == "cpu") return cpu();
    if (text == "auto") return automatic();
    if (text == "cuda") return cuda(0);
    constexpr std::string_view prefix = "cuda:";
    if (!text.starts_with(prefix)) return std::nullopt;
    int index = -1;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, index);
    if (error != std::errc() || stop != end || index < 0 || index > 63) return std::nullopt;
    return cuda(index);
}

} // namespace twb
