#pragma once

#include "backends/cpu/strided.h"
#include "backends/cpu/window.h"
#include "ops/kernel_inputs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twb {

// Folds the elements under each window position to one value, for row-major and channels-last tensors.

/// The planes of a tensor; `lanes` elements are interleaved: all channels if it is channels-last, otherwise
/// one.
struct PlaneLayout {
    std::int64_t planes = 1;
    std::int64_t lanes = 1;
    PlaneLayout(const Shape& shape, bool channelsLast)
        : planes(channelsLast ? shape[0] : shape[0] * shape[1]), lanes(channelsLast ? shape[1] : 1) {}
};

/// Folds the elements under each window, first along the outer axes for whole rows of the input, then along
/// the innermost axis. Calls store(first output element, position of the row, folded values) for each row of
/// the result, in parallel. `add` adds an element, `merge` another folded value.
template <class T, class Folded, class Add, class Merge, class Store>
void foldRows(const Window& window, PlaneLayout layout, const T* x, Folded start, const Add& add,
              const Merge& merge, const Store& store) {
    const int outer = window.rank() - 1;
    const WindowAxis& last = window.axes.back();
    const auto axisAt = [&](int axis) -> const WindowAxis& {
        return window.axes[static_cast<std::size_t>(axis)];
    };
    const std::int64_t lanes = layout.lanes;
    const std::int64_t inRow = last.in * lanes;
    const std::int64_t outRow = last.out * lanes;
    const std::int64_t in = window.inCount() * lanes;
    const std::int64_t rowsOfPlane = window.outCount() / last.out;
    const std::int64_t rows = layout.planes * rowsOfPlane;
    // Taps outside this range are in the padding at every window position.
    const std::int64_t firstTap =
        std::max<std::int64_t>(0, (last.padBegin - (last.out - 1) * last.stride) / last.dilation);
    const std::int64_t endTap = std::min(last.kernel, (last.in - 1 + last.padBegin) / last.dilation + 1);
    const std::int64_t taps = window.tapCount() / last.kernel + std::max<std::int64_t>(endTap - firstTap, 0);
    Window above;
    above.axes.assign(window.axes.begin(), window.axes.end() - 1);
    parallelRangesThrowing(rows, rows * inRow * taps, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Folded> across(static_cast<std::size_t>(inRow));
        std::vector<Folded> folded(static_cast<std::size_t>(outRow));
        for (std::int64_t row = begin; row < end; ++row) {
            const auto position =
                GridPlace::of(row % rowsOfPlane, outer, [&](int axis) { return axisAt(axis).out; });
            std::fill(across.begin(), across.end(), start);
            windowRuns(above, position, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
                for (std::int64_t k = 0; k < count; ++k) {
                    const T* const from = x + row / rowsOfPlane * in + (offset + k * step) * inRow;
                    Folded* const to = across.data();
                    for (std::int64_t i = 0; i < inRow; ++i) to[i] = add(to[i], from[i]);
                }
            });
            std::fill(folded.begin(), folded.end(), start);
            for (std::int64_t tap = firstTap; tap < endTap; ++tap) {
                const WindowAxis::Taps range = last.positions(tap);
                const Folded* from = across.data() + (last.start(range.begin) + tap * last.dilation) * lanes;
                Folded* to = folded.data() + range.begin * lanes;
                if (lanes == 1) {
                    for (std::int64_t o = range.begin; o < range.end; ++o, ++to, from += last.stride)
                        *to = merge(*to, *from);
                    continue;
                }
                for (std::int64_t o = range.begin; o < range.end;
                     ++o, to += lanes, from += last.stride * lanes)
                    for (std::int64_t c = 0; c < lanes; ++c) to[c] = merge(to[c], from[c]);
            }
            store(row * outRow, position, folded.data());
        }
    });
}

/// The input of a pooling for foldRows, copied to the layout of output 0 if necessary.
class PooledInput {
public:
    explicit PooledInput(const KernelContext& ctx)
        : m_channelsLast(!isDense(ctx.outputs[0])), m_given(ctx.inputs[0]) {
        const bool asIs = m_channelsLast ? isChannelsLast(m_given) : isDense(m_given);
        if (asIs) return;
        m_copy = Tensor::onHost({m_given.dtype, m_given.shape});
        const TensorView copy{m_copy.data(), m_given.dtype, m_given.shape,
                              m_channelsLast ? channelsLastStrides(m_given.shape)
                                             : denseStrides(m_given.shape)};
        copyElements(m_given, copy);
        m_given = copy;
    }
    PlaneLayout layout() const { return {m_given.shape, m_channelsLast}; }
    const TensorView& view() const noexcept { return m_given; }
    template <class T> const T* as() const noexcept { return m_given.as<const T>(); }

private:
    bool m_channelsLast;
    TensorView m_given;
    Tensor m_copy;
};

} // namespace twb
