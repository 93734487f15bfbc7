#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace twb {

// Regions of interest: rectangles of an image that are pooled to a fixed size. The host and the GPU share the
// code for one element of the result; element i belongs to a dense result of regions × channels × rows ×
// columns.

/// Sizes of the images and of a result's planes.
struct RegionSizes {
    std::int64_t channels, height, width, rows, columns;
};

namespace regions_detail {

TWB_HOST_DEVICE inline double within(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/// The samples along one side of a region's bin. `count` is the divisor of the mean; begin and end leave out
/// samples outside the image, which count as 0.
struct Samples {
    double first, step;
    std::int64_t begin, end, count;

    TWB_HOST_DEVICE Samples(double start, double length, std::int64_t ratio, std::int64_t size) {
        count = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(length));
        if (count < 0) count = 0;
        step = length / static_cast<double>(count > 1 ? count : 1);
        first = start + step / 2;
        // One sample more at either end than rounding requires; at() decides which are outside.
        const auto most = static_cast<double>(count);
        const double low = step > 0 ? (-1 - first) / step - 1 : 0;
        const double high = step > 0 ? (static_cast<double>(size) - first) / step + 2 : most;
        begin = static_cast<std::int64_t>(within(low, 0.0, most));
        end = static_cast<std::int64_t>(within(high, 0.0, most));
    }
    TWB_HOST_DEVICE double at(std::int64_t i) const { return first + static_cast<double>(i) * step; }
};

/// The two elements around a coordinate and their weights.
struct Between {
    std::int64_t low = 0, high = 0;
    double ofLow = 0, ofHigh = 0;
    bool inside = false;

    TWB_HOST_DEVICE Between(double x, std::int64_t size) {
        if (x < -1 || x > static_cast<double>(size) || size == 0) return;
        inside = true;
        if (x < 0) x = 0;
        low = static_cast<std::int64_t>(x);
        if (low > size - 1) low = size - 1;
        high = low + 1 < size ? low + 1 : size - 1;
        ofHigh = high == low ? 0 : x - static_cast<double>(low);
        ofLow = 1 - ofHigh;
    }
};

/// The range of elements along one side of the image that a bin covers.
struct Bin {
    std::int64_t begin, end;
    TWB_HOST_DEVICE Bin(std::int64_t index, std::int64_t bins, double start, double last, std::int64_t size) {
        const double whole = last - start + 1;
        const double length = (whole > 1 ? whole : 1) / static_cast<double>(bins);
        const auto most = static_cast<double>(size);
        begin = static_cast<std::int64_t>(
            within(std::floor(static_cast<double>(index) * length) + start, 0.0, most));
        end = static_cast<std::int64_t>(
            within(std::ceil(static_cast<double>(index + 1) * length) + start, 0.0, most));
    }
};

} // namespace regions_detail

/// RoiAlign. A region is two corners (x, y, x, y); `images` has the image index of each region. T is the
/// stored type, W the type of the arithmetic.
template <class T, class W> struct RegionAlign {
    RegionSizes sizes;
    const T *x, *regions;
    const std::int64_t* images;
    double scale;
    std::int64_t ratio;
    bool halfPixel, takesMax;

    TWB_HOST_DEVICE W operator()(std::int64_t i) const {
        using namespace regions_detail;
        const std::int64_t column = i % sizes.columns;
        const std::int64_t row = i / sizes.columns % sizes.rows;
        const std::int64_t plane = i / (sizes.columns * sizes.rows);
        const std::int64_t region = plane / sizes.channels;
        const T* const roi = regions + region * 4;
        const T* const image =
            x + (images[region] * sizes.channels + plane % sizes.channels) * sizes.height * sizes.width;
        const double shift = halfPixel ? 0.5 : 0;
        const auto corner = [&](int k) {
            return static_cast<double>(static_cast<W>(roi[k])) * scale - shift;
        };
        const double left = corner(0);
        const double top = corner(1);
        double across = corner(2) - left;
        double down = corner(3) - top;
        if (!halfPixel) {
            across = across > 1 ? across : 1;
            down = down > 1 ? down : 1;
        }
        const double binWidth = across / static_cast<double>(sizes.columns);
        const double binHeight = down / static_cast<double>(sizes.rows);
        const Samples ys(top + static_cast<double>(row) * binHeight, binHeight, ratio, sizes.height);
        const Samples xs(left + static_cast<double>(column) * binWidth, binWidth, ratio, sizes.width);
        double sum = 0;
        double most = -std::numeric_limits<double>::infinity();
        for (std::int64_t a = ys.begin; a < ys.end; ++a) {
            const Between v(ys.at(a), sizes.height);
            if (!v.inside) continue;
            for (std::int64_t b = xs.begin; b < xs.end; ++b) {
                const Between h(xs.at(b), sizes.width);
                if (!h.inside) continue;
                const auto at = [&](std::int64_t r, std::int64_t c) {
                    return static_cast<double>(static_cast<W>(image[r * sizes.width + c]));
                };
                const double parts[] = {
                    v.ofLow * h.ofLow * at(v.low, h.low), v.ofLow * h.ofHigh * at(v.low, h.high),
                    v.ofHigh * h.ofLow * at(v.high, h.low), v.ofHigh * h.ofHigh * at(v.high, h.high)};
                sum += parts[0] + parts[1] + parts[2] + parts[3];
                // As in ONNX: the maximum of the weighted corners, not of the samples.
                for (double part : parts) most = most < part ? part : most;
            }
        }
        if (!takesMax) {
            const double samples = static_cast<double>(ys.count) * static_cast<double>(xs.count);
            return static_cast<W>(sum / (samples > 1 ? samples : 1));
        }
        const bool misses = (ys.end - ys.begin) * (xs.end - xs.begin) < ys.count * xs.count || most < -1e300;
        return static_cast<W>(misses && most < 0 ? 0 : most);
    }
};

/// MaxRoiPool. A region is an image index and two corners (x, y, x, y).
template <class T, class W> struct RegionMax {
    RegionSizes sizes;
    const T *x, *regions;
    double scale;

    TWB_HOST_DEVICE W operator()(std::int64_t i) const {
        using regions_detail::Bin;
        const std::int64_t column = i % sizes.columns;
        const std::int64_t row = i / sizes.columns % sizes.rows;
        const std::int64_t plane = i / (sizes.columns * sizes.rows);
        const T* const roi = regions + plane / sizes.channels * 5;
        const auto number = [&](int k) { return static_cast<double>(static_cast<W>(roi[k])); };
        const auto corner = [&](int k) { return std::round(number(k) * scale); };
        const T* const image =
            x + (static_cast<std::int64_t>(number(0)) * sizes.channels + plane % sizes.channels) *
                    sizes.height * sizes.width;
        const Bin v(row, sizes.rows, corner(2), corner(4), sizes.height);
        const Bin h(column, sizes.columns, corner(1), corner(3), sizes.width);
        const bool isEmpty = v.end <= v.begin || h.end <= h.begin;
        W most = isEmpty ? W{0} : -std::numeric_limits<W>::infinity();
        for (std::int64_t a = v.begin; a < v.end; ++a)
            for (std::int64_t b = h.begin; b < h.end; ++b) {
                const auto value = static_cast<W>(image[a * sizes.width + b]);
                most = most < value ? value : most;
            }
        return most;
    }
};

/// Whether arithmetic on this coordinate is safe from overflow.
template <class W> TWB_HOST_DEVICE bool isRegionCoordinate(W x) { return x < W{1e15F} && x > W{-1e15F}; }

} // namespace twb
