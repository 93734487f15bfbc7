#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace twb {

/// The colour of a module; the theme defines its RGB values. Red (errors) and grey (modules without a colour)
/// are not among them.
enum class FrameColor : std::uint8_t { none, blue, teal, green, yellow, orange, pink, purple };

inline constexpr std::array<std::string_view, 8> kFrameColorNames{"none",   "blue",   "teal", "green",
                                                                  "yellow", "orange", "pink", "purple"};

constexpr std::string_view name(FrameColor color) noexcept {
    return kFrameColorNames[static_cast<std::size_t>(color)];
}
/// Nothing for any other text, including "none": a module without a colour has no text.
constexpr std::optional<FrameColor> parseFrameColor(std::string_view text) noexcept {
    for (std::size_t i = 1; i < kFrameColorNames.size(); ++i)
        if (kFrameColorNames[i] == text) return static_cast<FrameColor>(i);
    return std::nullopt;
}

} // namespace twb
