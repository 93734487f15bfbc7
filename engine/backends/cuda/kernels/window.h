#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/walk.h"
#include "core/error.h"

#include <array>
#include <cstdint>

namespace twb::cuda {

/// As many spatial axes as a kernel slides a window along.
inline constexpr int kMaxWindowAxes = 6;

/// A window as kernels are given it, over planes whose elements lie `strides` apart.
struct SlidingWindow {
    int rank = 0;
    std::array<WindowAxis, kMaxWindowAxes> axes{};
    std::array<std::int64_t, kMaxWindowAxes> strides{};
    std::int64_t outCount = 1;
    std::int64_t tapCount = 1;

    using Place = std::array<std::int64_t, kMaxWindowAxes>;

    SlidingWindow() = default;
    /// `strides`: those of the input's spatial axes.
    SlidingWindow(const Window& window, const std::int64_t* steps) : rank(window.rank()) {
        if (rank > kMaxWindowAxes)
            throw Error(ErrorCode::unsupported, "a window of that many axes does not slide on a GPU");
        for (std::size_t a = 0; a < window.axes.size(); ++a) {
            axes[a] = window.axes[a];
            strides[a] = steps[a];
        }
        outCount = window.outCount();
        tapCount = window.tapCount();
    }

    /// Of position or tap number `i`.
    TWB_HOST_DEVICE Place placeOf(std::int64_t i, std::int64_t WindowAxis::*size) const {
        Place place{};
        TWB_ROLLED
        for (int a = rank - 1; a >= 0; --a) {
            const std::int64_t next = i / (axes[a].*size);
            place[a] = i - next * (axes[a].*size);
            i = next;
        }
        return place;
    }

    /// Calls tap(offset in memory, row-major number of the element) for what lies under the window.
    template <class Tap> TWB_HOST_DEVICE void eachTap(const Place& position, const Tap& tap) const {
        Place begin{}, end{}, at{};
        for (int a = 0; a < rank; ++a) {
            const auto taps = axes[a].taps(position[a]);
            if (taps.end <= taps.begin) return;
            begin[a] = at[a] = taps.begin;
            end[a] = taps.end;
        }
        while (true) {
            std::int64_t offset = 0;
            std::int64_t number = 0;
            for (int a = 0; a < rank; ++a) {
                const std::int64_t index = axes[a].start(position[a]) + at[a] * axes[a].dilation;
                offset += index * strides[a];
                number = number * axes[a].in + index;
            }
            tap(offset, number);
            int a = rank - 1;
            while (a >= 0 && ++at[a] == end[a]) {
                at[a] = begin[a];
                --a;
            }
            if (a < 0) return;
        }
    }
};

} // namespace twb::cuda
