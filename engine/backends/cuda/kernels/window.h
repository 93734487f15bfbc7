#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/walk.h"
#include "core/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace twb::cuda {

/// The limit on spatial axes of a window.
inline constexpr int kMaxWindowAxes = 6;

/// A window as passed to kernels, over planes whose elements are `strides` apart.
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
            throw Error(ErrorCode::unsupported, "the window has too many axes for a GPU; move the op to cpu");
        for (std::size_t a = 0; a < window.axes.size(); ++a) {
            axes[a] = window.axes[a];
            strides[a] = steps[a];
        }
        outCount = window.outCount();
        tapCount = window.tapCount();
    }

    /// The coordinates of position or tap number `i`.
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

    TWB_HOST_DEVICE Place outPlaceOf(std::int64_t i) const { return placeOf(i, &WindowAxis::out); }
    TWB_HOST_DEVICE Place inPlaceOf(std::int64_t i) const { return placeOf(i, &WindowAxis::in); }

    /// Calls tap(offset in memory, row-major index of the element, index of the tap) for the elements under
    /// the window.
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
            std::int64_t t = 0;
            for (int a = 0; a < rank; ++a) {
                const std::int64_t index = axes[a].start(position[a]) + at[a] * axes[a].dilation;
                offset += index * strides[a];
                number = number * axes[a].in + index;
                t = t * axes[a].kernel + at[a];
            }
            tap(offset, number, t);
            int a = rank - 1;
            while (a >= 0 && ++at[a] == end[a]) {
                at[a] = begin[a];
                --a;
            }
            if (a < 0) return;
        }
    }

    /// Calls visit(index of the tap, index of the position) for all windows over an element.
    template <class Visit> TWB_HOST_DEVICE void eachPosition(const Place& element, const Visit& visit) const {
        for (std::int64_t t = 0; t < tapCount; ++t) {
            const auto tap = placeOf(t, &WindowAxis::kernel);
            std::int64_t number = 0;
            bool isThere = true;
            for (int a = 0; a < rank; ++a) {
                const WindowAxis& axis = axes[a];
                const std::int64_t moved = element[a] + axis.padBegin - tap[a] * axis.dilation;
                const std::int64_t position = moved / axis.stride;
                isThere = isThere && moved >= 0 && position < axis.out && position * axis.stride == moved;
                number = number * axis.out + position;
            }
            if (isThere) visit(t, number);
        }
    }

    /// Whether a tap at a position is over an element, and which.
    TWB_HOST_DEVICE bool find(std::int64_t position, std::int64_t tap, std::int64_t& offset) const {
        offset = 0;
        bool isInside = true;
        TWB_ROLLED
        for (int a = rank - 1; a >= 0; --a) {
            const WindowAxis& axis = axes[a];
            const std::int64_t nextPosition = position / axis.out;
            const std::int64_t nextTap = tap / axis.kernel;
            const std::int64_t index = axis.start(position - nextPosition * axis.out) +
                                       (tap - nextTap * axis.kernel) * axis.dilation;
            isInside = isInside && index >= 0 && index < axis.in;
            offset += index * strides[a];
            position = nextPosition;
            tap = nextTap;
        }
        return isInside;
    }

    /// The divisor of a mean over a position.
    TWB_HOST_DEVICE std::int64_t counted(const Place& place, bool withPadding) const {
        std::int64_t count = 1;
        for (int a = 0; a < rank; ++a) count *= axes[a].counted(place[a], withPadding);
        return count;
    }

    /// The index of an element in column-major order.
    TWB_HOST_DEVICE std::int64_t columnMajor(std::int64_t number) const {
        std::int64_t index = 0;
        std::int64_t step = 1;
        for (int a = 0; a < rank; ++a) step *= axes[a].in;
        for (int a = rank - 1; a >= 0; --a) {
            const std::int64_t size = axes[a].in;
            step /= size;
            index += number % size * step;
            number /= size;
        }
        return index;
    }
};

/// The same for one or two axes with 32-bit numbers: coordinates stay in registers, and taps need no
/// division.
class PlaneWindow {
public:
    struct Place {
        int y, x;
    };
    std::int64_t outCount = 1;
    std::int64_t tapCount = 1;

    /// Whether a window has such a form.
    static bool takes(const Window& window) {
        constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
        const auto isSmall = [](const WindowAxis& axis) {
            const std::int64_t sizes[] = {axis.in,
                                          axis.out,
                                          axis.kernel,
                                          axis.stride,
                                          axis.dilation,
                                          std::abs(axis.padBegin),
                                          std::abs(axis.padEnd)};
            for (const std::int64_t size : sizes)
                if (size > most) return false;
            // The limit on elements, including taps over padding.
            return axis.in <= most / 4 && axis.stride <= most / 4 / std::max<std::int64_t>(axis.out, 1) &&
                   axis.dilation <= most / 4 / std::max<std::int64_t>(axis.kernel, 1) &&
                   std::abs(axis.padBegin) <= most / 8 && std::abs(axis.padEnd) <= most / 8;
        };
        return (window.rank() == 1 || window.rank() == 2) && window.inCount() <= most &&
               window.outCount() <= most && window.tapCount() <= most &&
               std::all_of(window.axes.begin(), window.axes.end(), isSmall);
    }
    PlaneWindow(const Window& window, const std::int64_t* steps)
        : outCount(window.outCount()), tapCount(window.tapCount()),
          m_down(window.rank() == 2 ? Axis(window.axes[0], steps[0]) : Axis(WindowAxis{}, 0)),
          m_across(window.axes.back(), steps[window.rank() - 1]) {}

    TWB_HOST_DEVICE Place outPlaceOf(std::int64_t i) const {
        return placeOf(i, m_across.byOut, m_across.out);
    }
    TWB_HOST_DEVICE Place inPlaceOf(std::int64_t i) const { return placeOf(i, m_across.byIn, m_across.in); }

    template <class Tap> TWB_HOST_DEVICE void eachTap(const Place& position, const Tap& tap) const {
        int y = m_down.start(position.y);
        for (int ty = 0; ty < m_down.kernel; ++ty, y += m_down.dilation) {
            if (!m_down.holds(y)) continue;
            int x = m_across.start(position.x);
            for (int tx = 0; tx < m_across.kernel; ++tx, x += m_across.dilation)
                if (m_across.holds(x))
                    tap(y * m_down.step + x * m_across.step, y * m_across.in + x, ty * m_across.kernel + tx);
        }
    }

    template <class Visit> TWB_HOST_DEVICE void eachPosition(const Place& element, const Visit& visit) const {
        Over y(m_down, element.y);
        for (int ty = 0; ty < m_down.kernel && y.position >= 0; ++ty, y.next(m_down)) {
            if (!y.isThere(m_down)) continue;
            Over x(m_across, element.x);
            for (int tx = 0; tx < m_across.kernel && x.position >= 0; ++tx, x.next(m_across))
                if (x.isThere(m_across))
                    visit(ty * m_across.kernel + tx, y.position * m_across.out + x.position);
        }
    }

    TWB_HOST_DEVICE bool find(std::int64_t position, std::int64_t tap, std::int64_t& offset) const {
        const Place at = outPlaceOf(position);
        const Place t = placeOf(tap, m_across.byKernel, m_across.kernel);
        const int y = m_down.start(at.y) + t.y * m_down.dilation;
        const int x = m_across.start(at.x) + t.x * m_across.dilation;
        offset = y * m_down.step + x * m_across.step;
        return m_down.holds(y) && m_across.holds(x);
    }

    TWB_HOST_DEVICE std::int64_t counted(const Place& place, bool withPadding) const {
        return std::int64_t{m_down.counted(place.y, withPadding)} * m_across.counted(place.x, withPadding);
    }
    TWB_HOST_DEVICE std::int64_t columnMajor(std::int64_t number) const {
        const Place place = inPlaceOf(number);
        return std::int64_t{place.x} * m_down.in + place.y;
    }

private:
    struct Axis {
        int in, out, kernel, stride, dilation, padBegin, padEnd;
        std::int64_t step;
        FastDivide byIn, byOut, byKernel;

        Axis(const WindowAxis& axis, std::int64_t elements)
            : in(static_cast<int>(axis.in)), out(static_cast<int>(axis.out)),
              kernel(static_cast<int>(axis.kernel)), stride(static_cast<int>(axis.stride)),
              dilation(static_cast<int>(axis.dilation)), padBegin(static_cast<int>(axis.padBegin)),
              padEnd(static_cast<int>(axis.padEnd)), step(elements), byIn(divisionBy(in)),
              byOut(divisionBy(out)), byKernel(divisionBy(kernel)) {}
        static FastDivide divisionBy(int size) {
            return FastDivide(static_cast<unsigned>(std::max(size, 1)));
        }

        TWB_HOST_DEVICE int start(int position) const { return position * stride - padBegin; }
        TWB_HOST_DEVICE bool holds(int i) const {
            return static_cast<unsigned>(i) < static_cast<unsigned>(in);
        }
        /// The same counting as WindowAxis.
        TWB_HOST_DEVICE int counted(int position, bool withPadding) const {
            const int first = start(position);
            const int end = tapsBefore((withPadding ? in + padEnd : in) - first);
            if (withPadding) return end;
            const int begin = first >= 0 ? 0 : tapsBefore(-first);
            return end > begin ? end - begin : 0;
        }
        TWB_HOST_DEVICE int tapsBefore(int distance) const {
            const int taps = (distance + dilation - 1) / dilation;
            return taps < kernel ? taps : kernel;
        }
    };
    /// The position whose tap is over an element: the quotient by the stride, if there is no remainder.
    struct Over {
        int position, rest, quotient, remainder;
        TWB_HOST_DEVICE Over(const Axis& axis, int element)
            : quotient(axis.dilation / axis.stride), remainder(axis.dilation % axis.stride) {
            const int moved = element + axis.padBegin;
            position = moved < 0 ? -1 : moved / axis.stride;
            rest = moved - position * axis.stride;
        }
        TWB_HOST_DEVICE bool isThere(const Axis& axis) const { return rest == 0 && position < axis.out; }
        TWB_HOST_DEVICE void next(const Axis& axis) {
            position -= quotient;
            rest -= remainder;
            if (rest < 0) {
                rest += axis.stride;
                --position;
            }
        }
    };
    TWB_HOST_DEVICE static Place placeOf(std::int64_t i, const FastDivide& bySize, int size) {
        const auto y = static_cast<int>(bySize(static_cast<std::uint32_t>(i)));
        return {y, static_cast<int>(i) - y * size};
    }

    Axis m_down, m_across;
};

/// Calls f with the form of the window that suits kernels.
template <class F> void withWindow(const Window& window, const std::int64_t* steps, const F& f) {
    if (PlaneWindow::takes(window))
        f(PlaneWindow(window, steps));
    else
        f(SlidingWindow(window, steps));
}

} // namespace twb::cuda
