#pragma once

#include "backends/cpu/window.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace twb {

template <class T> constexpr T leastOf() {
    if constexpr (std::is_floating_point_v<T>)
        return -std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::min();
}

namespace max_pool_detail {

/// The number of a tap, as wide as an element, so that comparisons of elements select among numbers.
template <class T> using TapOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// The largest element under each window of a row of the result, and its tap; of equal ones the first. NaN
/// wins, as in PyTorch.
template <class T> struct LargestOfRow {
    std::vector<T> values;
    std::vector<TapOf<T>> taps; ///< -1: the window has no element

    explicit LargestOfRow(std::int64_t length)
        : values(static_cast<std::size_t>(length)), taps(static_cast<std::size_t>(length)) {}
    void clear() {
        std::fill(values.begin(), values.end(), leastOf<T>());
        std::fill(taps.begin(), taps.end(), TapOf<T>{-1});
    }
    /// Takes one element for each of `count` windows from window `first` on. Without a branch, which random
    /// numbers would make unpredictable.
    template <std::int64_t Stride>
    void add(const T* from, std::int64_t stride, std::int64_t first, std::int64_t count, TapOf<T> tap) {
        T* const most = values.data() + first;
        TapOf<T>* const at = taps.data() + first;
        const std::int64_t step = Stride > 0 ? Stride : stride; // known ones are vectorised
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
            const T value = from[i * step];
            const bool takes = (at[i] < 0) | (value > most[i]) | ((value != value) & (most[i] == most[i]));
            most[i] = takes ? value : most[i];
            at[i] = takes ? tap : at[i];
        }
    }
};

/// The index of an element within its plane, with the first spatial axis varying fastest.
inline std::int64_t columnMajor(const Window& window, std::int64_t offset) {
    std::int64_t index = 0;
    std::int64_t step = window.inCount();
    for (int axis = window.rank() - 1; axis >= 0; --axis) {
        const std::int64_t size = window.axes[static_cast<std::size_t>(axis)].in;
        step /= size;
        index += offset % size * step;
        offset /= size;
    }
    return index;
}

} // namespace max_pool_detail

/// Max pooling of row-major planes, with the index of each largest element in the whole tensor: row-major, or
/// with the first spatial axis of each plane varying fastest. An empty window has the index -1.
template <class T>
void maxPoolWithIndices(const Window& window, std::int64_t planes, const T* x, bool byColumns, T* y,
                        std::int64_t* indices) {
    const int inner = window.rank() - 1;
    const WindowAxis& last = window.axes.back();
    const auto axisAt = [&](int axis) -> const WindowAxis& {
        return window.axes[static_cast<std::size_t>(axis)];
    };
    const std::int64_t plane = window.inCount();
    const std::int64_t rowsOfPlane = window.outCount() / last.out;
    const std::int64_t outerTaps = window.tapCount() / last.kernel;
    std::vector<GridPlace> taps;       // of the outer axes
    std::vector<std::int64_t> offsets; // of all taps, from a window's first element
    for (std::int64_t outer = 0; outer < outerTaps; ++outer) {
        taps.push_back(GridPlace::of(outer, inner, [&](int axis) { return axisAt(axis).kernel; }));
        std::int64_t row = 0;
        for (int axis = 0; axis < inner; ++axis)
            row = row * axisAt(axis).in + taps.back()[axis] * axisAt(axis).dilation;
        for (std::int64_t tap = 0; tap < last.kernel; ++tap)
            offsets.push_back(row * last.in + tap * last.dilation);
    }
    const std::int64_t rows = planes * rowsOfPlane;
    parallelRanges(
        rows, 2 * rows * last.out * window.tapCount(), 1, [&](std::int64_t begin, std::int64_t end) {
            max_pool_detail::LargestOfRow<T> largest(last.out);
            for (std::int64_t row = begin; row < end; ++row) {
                const T* const from = x + row / rowsOfPlane * plane;
                const GridPlace position =
                    GridPlace::of(row % rowsOfPlane, inner, [&](int axis) { return axisAt(axis).out; });
                std::int64_t first = 0; // the row of the window's first element, perhaps in the padding
                for (int axis = 0; axis < inner; ++axis)
                    first = first * axisAt(axis).in + axisAt(axis).start(position[axis]);
                largest.clear();
                for (std::int64_t outer = 0; outer < outerTaps; ++outer) {
                    bool isInside = true;
                    for (int axis = 0; axis < inner; ++axis) {
                        const std::int64_t at =
                            axisAt(axis).start(position[axis]) +
                            taps[static_cast<std::size_t>(outer)][axis] * axisAt(axis).dilation;
                        isInside = isInside && at >= 0 && at < axisAt(axis).in;
                    }
                    if (!isInside) continue;
                    for (std::int64_t tap = 0; tap < last.kernel; ++tap) {
                        const WindowAxis::Taps range = last.positions(tap);
                        if (range.count() == 0) continue;
                        const std::int64_t number = outer * last.kernel + tap;
                        const T* const start = from + first * last.in + last.start(range.begin) +
                                               offsets[static_cast<std::size_t>(number)];
                        const auto add = [&]<std::int64_t Stride>() {
                            largest.template add<Stride>(start, last.stride, range.begin, range.count(),
                                                         static_cast<max_pool_detail::TapOf<T>>(number));
                        };
                        if (last.stride == 1)
                            add.template operator()<1>();
                        else if (last.stride == 2)
                            add.template operator()<2>();
                        else
                            add.template operator()<0>();
                    }
                }
                std::copy(largest.values.begin(), largest.values.end(), y + row * last.out);
                for (std::int64_t o = 0; o < last.out; ++o) {
                    const std::int64_t tap = largest.taps[static_cast<std::size_t>(o)];
                    std::int64_t at = -1;
                    if (tap >= 0) {
                        at = first * last.in + last.start(o) + offsets[static_cast<std::size_t>(tap)];
                        if (byColumns) at = max_pool_detail::columnMajor(window, at);
                        at += row / rowsOfPlane * plane;
                    }
                    indices[row * last.out + o] = at;
                }
            }
        });
}

} // namespace twb
