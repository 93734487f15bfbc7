#pragma once

#include <cstdint>

namespace twb {

/// The level of detail of nodes; it falls with the zoom.
enum class Detail : std::uint8_t {
    density, ///< the density of nodes only
    plain,   ///< rectangles and lines
    titles,  ///< cards without small text
    full,
};

/// Below this zoom, text of 12 units is illegible.
inline constexpr double kReadableZoom = 0.45;

/// `zoom`: pixels per canvas unit; `nodes`: the number that may be visible.
inline Detail detailFor(double zoom, std::size_t nodes) noexcept {
    if (zoom >= 0.6) return Detail::full;
    if (zoom >= 0.32) return Detail::titles;
    // A card with fewer pixels is drawn as a shade.
    constexpr double kLeastZoom = 0.05;
    constexpr std::size_t kMostNodes = 20000;
    return zoom < kLeastZoom && nodes > kMostNodes ? Detail::density : Detail::plain;
}

} // namespace twb
