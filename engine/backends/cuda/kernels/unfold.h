#pragma once

#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/window.h"
#include "core/tensor.h"

#include <cstddef>
#include <cstdint>

namespace twb::cuda {

// Convolutions as matrix products: windows are unfolded into columns, or columns are folded back.

/// One row per channel and tap, one column per position, one matrix per image; elements over padding are 0.
template <class T, class Slide> struct Unfold {
    Slide window;
    const T* in;
    T* columns;
    Divide outs, taps, channels;
    std::int64_t batchStride, channelStride;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = outs(i);
        const std::int64_t plane = taps(row);
        const std::int64_t image = channels(plane);
        const T* const from = in + image * batchStride + (plane - image * channels.divisor()) * channelStride;
        std::int64_t offset = 0;
        const bool isInside = window.find(i - row * outs.divisor(), row - plane * taps.divisor(), offset);
        columns[i] = isInside ? from[offset] : T{};
    }
};

/// The transpose of Unfold: sums the columns' values for each element of the planes and adds a bias.
template <class T, class C, class Slide> struct Fold {
    Slide window; ///< slides over the result
    const C* columns;
    const T* bias; ///< null: none
    std::int64_t biasStep;
    T* out;
    Divide channels, inCount;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t plane = inCount(i);
        using W = Wide<T>;
        W sum = bias ? widened(bias[(plane - channels(plane) * channels.divisor()) * biasStep]) : W{0};
        const C* const from = columns + plane * window.tapCount * window.outCount;
        window.eachPosition(window.inPlaceOf(i - plane * inCount.divisor()),
                            [&](std::int64_t tap, std::int64_t position) {
                                sum += widened(from[tap * window.outCount + position]);
                            });
        out[i] = stored<T>(sum);
    }
};

/// The address `elements` after `data`.
inline const void* at(const void* data, std::int64_t elements, DType dtype) {
    return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(sizeOf(dtype));
}

/// The number of images out of `batch` that are unfolded at a time, with `columns` column elements each.
std::int64_t imagesAtATime(std::int64_t columns, std::int64_t batch, DType dtype);
/// Fills `out` with its channels' biases. Without a bias, returns false and does nothing.
bool fillWithBias(Queue& queue, const TensorView& bias, const TensorView& out);

/// The operands' strides from one product of a batch to the next, in elements.
struct Steps {
    std::int64_t a, b, c;
};
/// Runs `product` for all groups of some images, batched along the larger of the two numbers.
void multiplyAll(Queue& queue, Product product, std::int64_t groups, Steps ofGroup, std::int64_t images,
                 Steps ofImage);

} // namespace twb::cuda
