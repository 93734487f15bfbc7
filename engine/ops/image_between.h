#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>

namespace twb {

/// The interpolated value of an image at a point between its elements. Outside, the image is 0. T is the
/// stored type, W the type of the arithmetic.
template <class W, class T>
TWB_HOST_DEVICE W imageBetween(const T* image, std::int64_t height, std::int64_t width, double y, double x) {
    if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) return W{0};
    const double top = std::floor(y);
    const double left = std::floor(x);
    const auto at = [&](double row, double column) {
        const auto r = static_cast<std::int64_t>(row);
        const auto c = static_cast<std::int64_t>(column);
        return r < 0 || c < 0 || r >= height || c >= width
                   ? 0.0
                   : static_cast<double>(static_cast<W>(image[r * width + c]));
    };
    const double fy = y - top;
    const double fx = x - left;
    return static_cast<W>((1 - fy) * ((1 - fx) * at(top, left) + fx * at(top, left + 1)) +
                          fy * ((1 - fx) * at(top + 1, left) + fx * at(top + 1, left + 1)));
}

} // namespace twb
