#pragma once

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/half.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace twb {

/// A sliding window along one spatial axis. Position o covers the elements o * stride - padBegin + t *
/// dilation for taps t in [0, kernel); elements outside [0, in) are padding.
struct WindowAxis {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t padBegin = 0;
    std::int64_t padEnd = 0;

    TWB_HOST_DEVICE std::int64_t start(std::int64_t position) const noexcept {
        return position * stride - padBegin;
    }
    /// The distance from the first tap to the last, in elements.
    TWB_HOST_DEVICE std::int64_t reach() const noexcept { return (kernel - 1) * dilation + 1; }

    struct Taps {
        std::int64_t begin, end;
        TWB_HOST_DEVICE std::int64_t count() const noexcept { return std::max<std::int64_t>(end - begin, 0); }
    };
    /// The taps at a position whose element is in [0, limit).
    TWB_HOST_DEVICE Taps tapsBefore(std::int64_t position, std::int64_t limit) const noexcept {
        const std::int64_t first = start(position);
        const std::int64_t begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
        const std::int64_t end = first >= limit ? 0 : (limit - first + dilation - 1) / dilation;
        return {std::min(begin, kernel), std::min(end, kernel)};
    }
    TWB_HOST_DEVICE Taps taps(std::int64_t position) const noexcept { return tapsBefore(position, in); }
    /// The number of elements in a mean at a position: of the input, or including padding. A window that
    /// reaches beyond the padding (ceil_mode) counts only elements within it.
    TWB_HOST_DEVICE std::int64_t counted(std::int64_t position, bool withPadding) const noexcept {
        if (!withPadding) return taps(position).count();
        return std::min(kernel, (in + padEnd - start(position) + dilation - 1) / dilation);
    }
    /// The positions at which tap t is inside the input.
    TWB_HOST_DEVICE Taps positions(std::int64_t tap) const noexcept {
        const std::int64_t shift = tap * dilation - padBegin;
        const std::int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const std::int64_t end = shift >= in ? 0 : (in - shift + stride - 1) / stride;
        return {std::min(begin, out), std::min(end, out)};
    }
};

/// The spatial axes, outermost first.
struct Window {
    std::vector<WindowAxis> axes;

    int rank() const noexcept { return static_cast<int>(axes.size()); }
    /// The number of elements of an input plane, an output plane, and the window.
    std::int64_t inCount() const noexcept { return product(&WindowAxis::in); }
    std::int64_t outCount() const noexcept { return product(&WindowAxis::out); }
    std::int64_t tapCount() const noexcept { return product(&WindowAxis::kernel); }

private:
    std::int64_t product(std::int64_t WindowAxis::*size) const noexcept {
        std::int64_t count = 1;
        for (const WindowAxis& axis : axes) count *= axis.*size;
        return count;
    }
};

/// A position in a grid of `rank` axes, counted row-major.
struct GridPlace {
    std::array<std::int64_t, kMaxRank> index{};

    /// The position of element `at` in a grid of these sizes.
    template <class SizeOf> static GridPlace of(std::int64_t at, int rank, const SizeOf& sizeOf) {
        GridPlace place;
        for (int axis = rank - 1; axis >= 0; --axis) {
            place.index[static_cast<std::size_t>(axis)] = at % sizeOf(axis);
            at /= sizeOf(axis);
        }
        return place;
    }
    /// Goes to the next position; false after the last.
    template <class SizeOf> bool next(int rank, const SizeOf& sizeOf) noexcept {
        for (int axis = rank - 1; axis >= 0; --axis) {
            const auto a = static_cast<std::size_t>(axis);
            if (++index[a] < sizeOf(axis)) return true;
            index[a] = 0;
        }
        return false;
    }
    std::int64_t operator[](int axis) const noexcept { return index[static_cast<std::size_t>(axis)]; }
};

/// Calls run(offset, step, count) for the elements of an input plane under the window at a position: `count`
/// elements from `offset` on, `step` apart, row-major.
template <class Run> void windowRuns(const Window& window, const GridPlace& position, const Run& run) {
    const int rank = window.rank();
    if (rank == 0) return run(std::int64_t{0}, std::int64_t{1}, std::int64_t{1});
    std::array<WindowAxis::Taps, kMaxRank> taps;
    for (int axis = 0; axis < rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        taps[a] = window.axes[a].taps(position[axis]);
        if (taps[a].count() == 0) return;
    }
    const WindowAxis& last = window.axes.back();
    const WindowAxis::Taps inner = taps[static_cast<std::size_t>(rank - 1)];
    const std::int64_t first = last.start(position[rank - 1]) + inner.begin * last.dilation;
    GridPlace tap;
    do {
        std::int64_t row = 0;
        for (int axis = 0; axis < rank - 1; ++axis) {
            const auto a = static_cast<std::size_t>(axis);
            const WindowAxis& along = window.axes[a];
            row = row * along.in + along.start(position[axis]) + (taps[a].begin + tap[axis]) * along.dilation;
        }
        run(row * last.in + first, last.dilation, inner.count());
    } while (tap.next(rank - 1, [&](int axis) { return taps[static_cast<std::size_t>(axis)].count(); }));
}

namespace window_detail {

/// Calls piece(tap row, input offset, input step, column offset, count) for the runs of one tap along the
/// innermost axis: column[offset + i] is plane[input offset + i * step].
template <class Piece> void tapRuns(const Window& window, std::int64_t tapIndex, const Piece& piece) {
    const int rank = window.rank();
    const auto tap = GridPlace::of(
        tapIndex, rank, [&](int axis) { return window.axes[static_cast<std::size_t>(axis)].kernel; });
    std::array<WindowAxis::Taps, kMaxRank> places;
    for (int axis = 0; axis < rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        places[a] = window.axes[a].positions(tap[axis]);
        if (places[a].count() == 0) return;
    }
    const WindowAxis& last = window.axes.back();
    const WindowAxis::Taps inner = places[static_cast<std::size_t>(rank - 1)];
    GridPlace outer;
    do {
        std::int64_t row = 0;
        std::int64_t column = 0;
        for (int axis = 0; axis < rank - 1; ++axis) {
            const auto a = static_cast<std::size_t>(axis);
            const WindowAxis& along = window.axes[a];
            const std::int64_t position = places[a].begin + outer[axis];
            row = row * along.in + along.start(position) + tap[axis] * along.dilation;
            column = column * along.out + position;
        }
        piece(row * last.in + last.start(inner.begin) + tap[rank - 1] * last.dilation, last.stride,
              column * last.out + inner.begin, inner.count());
    } while (outer.next(rank - 1, [&](int axis) { return places[static_cast<std::size_t>(axis)].count(); }));
}

} // namespace window_detail

/// Unfolds `channels` planes into a matrix: one row per channel and tap, one column per position. Padding
/// elements get the value `padding`.
template <class T>
void unfold(const Window& window, std::int64_t channels, const T* planes, T* columns, T padding = T{}) {
    const std::int64_t taps = window.tapCount();
    const std::int64_t out = window.outCount();
    const std::int64_t in = window.inCount();
    parallelRanges(channels * taps, channels * taps * out, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            T* const to = columns + row * out;
            std::fill_n(to, out, padding);
            const T* const plane = planes + row / taps * in;
            window_detail::tapRuns(
                window, row % taps,
                [&](std::int64_t from, std::int64_t step, std::int64_t column, std::int64_t count) {
                    for (std::int64_t i = 0; i < count; ++i) to[column + i] = plane[from + i * step];
                });
        }
    });
}

/// The transpose of unfold: adds every column to its elements in `planes`, which must be initialized.
template <class T> void foldOnto(const Window& window, std::int64_t channels, const T* columns, T* planes) {
    const std::int64_t taps = window.tapCount();
    const std::int64_t out = window.outCount();
    const std::int64_t in = window.inCount();
    parallelRanges(channels, channels * taps * out, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin * taps; row < end * taps; ++row) {
            const T* const from = columns + row * out;
            T* const plane = planes + row / taps * in;
            window_detail::tapRuns(
                window, row % taps,
                [&](std::int64_t to, std::int64_t step, std::int64_t column, std::int64_t count) {
                    for (std::int64_t i = 0; i < count; ++i) plane[to + i * step] += from[column + i];
                });
        }
    });
}

} // namespace twb
