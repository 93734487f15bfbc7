#pragma once

#include <cstdint>

namespace twb {

/// How much of a node is drawn; less the further away it is.
enum class Detail : std::uint8_t {
    density, ///< no nodes, only how many there are
    plain,   ///< rectangles and lines
    titles,  ///< cards without small text
    full,
};

/// Below this, text of 12 units is no text any more.
inline constexpr double kReadableZoom = 0.45;

/// `zoom` is pixels for a canvas unit, `nodes` how many may be in view.
inline Detail detailFor(double zoom, std::size_t nodes) noexcept {
    if (zoom >= 0.6) return Detail::full;
    if (zoom >= 0.32) return Detail::titles;
    // A card of fewer pixels than this says no more than a shade does.
    constexpr double kLeastZoom = 0.05;
    constexpr std::size_t kMostNodes = 20000;
    return zoom < kLeastZoom && nodes > kMostNodes ? Detail::density : Detail::plain;
}

} // namespace twb
