#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace twb {

// The sampling positions of GridSample. The host and the GPU share this code.

enum class GridPadding : std::uint8_t { zeros, border, reflection };
enum class GridMode : std::uint8_t { nearest, linear, cubic };

/// The elements along one axis that are combined for a coordinate, and their weights. Index −1 stands for an
/// element that is 0.
struct GridTaps {
    std::int64_t at[4] = {};
    double share[4] = {};
    int count = 0;
};

/// An axis of `size` elements, addressed by coordinates from −1 to 1.
class GridAxis {
public:
    GridAxis() = default;
    GridAxis(std::int64_t size, GridMode mode, GridPadding padding, bool corners)
        : m_size(size), m_mode(mode), m_padding(padding), m_corners(corners), m_low(corners ? 0 : -0.5),
          m_high(static_cast<double>(size) - (corners ? 1 : 0.5)) {}

    TWB_HOST_DEVICE GridTaps tapsOf(double grid) const {
        const auto size = static_cast<double>(m_size);
        double x = m_corners ? (grid + 1) / 2 * (size - 1) : ((grid + 1) * size - 1) / 2;
        // NaN counts as far outside: 0 with padding `zeros`, else the element that the padding gives. The
        // limits keep indices within the integers that a double represents.
        x = x == x ? within(x, -1e15, 1e15) : -1e15;
        if (m_mode == GridMode::nearest) x = std::nearbyint(x);
        // Cubic weights come from the unclamped coordinate; its taps are clamped one by one.
        if (m_mode != GridMode::cubic && (x < m_low || x > m_high)) {
            if (m_padding == GridPadding::border) x = within(x, 0.0, size - 1);
            if (m_padding == GridPadding::reflection) x = reflected(x, m_low, m_high);
        }
        GridTaps taps;
        if (m_mode == GridMode::nearest) {
            add(taps, static_cast<std::int64_t>(x), 1);
            return taps;
        }
        const double floor = std::floor(x);
        const auto first = static_cast<std::int64_t>(floor);
        if (m_mode == GridMode::linear) {
            add(taps, first, 1 - (x - floor));
            add(taps, first + 1, x - floor);
            return taps;
        }
        for (std::int64_t i = -1; i <= 2; ++i)
            add(taps, first + i, cubicShare(x - floor - static_cast<double>(i)));
        return taps;
    }

private:
    template <class T> TWB_HOST_DEVICE static T within(T x, T low, T high) {
        return x < low ? low : x > high ? high : x;
    }

    TWB_HOST_DEVICE static double reflected(double x, double low, double high) {
        const double range = high - low;
        if (range <= 0) return low;
        const double beyond = x < low ? low - x : x - high;
        if (beyond <= 0) return x;
        const double turns = std::floor(beyond / range);
        const double rest = beyond - turns * range;
        const bool even = std::fmod(turns, 2.0) == 0;
        return (x < low) == even ? low + rest : high - rest;
    }

    TWB_HOST_DEVICE static double cubicShare(double x) {
        constexpr double a = -0.75;
        x = std::fabs(x);
        if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
        return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
    }

    TWB_HOST_DEVICE void add(GridTaps& taps, std::int64_t at, double share) const {
        if (at < 0 || at >= m_size) {
            if (m_padding == GridPadding::zeros) {
                at = -1;
            } else {
                if (m_padding == GridPadding::reflection)
                    at = static_cast<std::int64_t>(reflected(static_cast<double>(at), m_low, m_high));
                at = within<std::int64_t>(at, 0, m_size - 1);
            }
        }
        taps.at[taps.count] = at;
        taps.share[taps.count] = share;
        ++taps.count;
    }

    std::int64_t m_size = 1;
    GridMode m_mode = GridMode::linear;
    GridPadding m_padding = GridPadding::zeros;
    bool m_corners = false;
    double m_low = 0, m_high = 0;
};

/// The coordinate of element `i` of `size` along an axis from −1 to 1.
TWB_HOST_DEVICE inline double gridCoordinate(std::int64_t i, std::int64_t size, bool corners) {
    const auto count = static_cast<double>(size);
    const auto place = static_cast<double>(i);
    if (!corners) return (2 * place + 1) / count - 1;
    return count > 1 ? 2 * place / (count - 1) - 1 : 0;
}

/// The values of the attributes "mode" and "padding_mode".
inline GridMode gridModeOf(std::string_view name) {
    return name == "nearest" ? GridMode::nearest : name == "cubic" ? GridMode::cubic : GridMode::linear;
}
inline GridPadding gridPaddingOf(std::string_view name) {
    return name == "border"       ? GridPadding::border
           : name == "reflection" ? GridPadding::reflection
                                  : GridPadding::zeros;
}

} // namespace twb
