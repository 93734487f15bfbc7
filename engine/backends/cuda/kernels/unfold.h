#pragma once

#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/window.h"
#include "core/tensor.h"

#include <cstddef>
#include <cstdint>

namespace twb::cuda {

// Convolutions as products of matrices: windows are unfolded into columns, or columns folded back.

/// A row for each channel and tap, a column for each position, a matrix for each image; what lies over
/// padding is 0.
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

/// The transpose of Unfold: what all columns hold for each element of the planes, and a bias.
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

/// Where an element lies, `elements` after the first.
inline const void* at(const void* data, std::int64_t elements, DType dtype) {
    return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(sizeOf(dtype));
}

/// How many of `batch` images, each of which has `columns` elements of columns, are unfolded at a time.
std::int64_t imagesAtATime(std::int64_t columns, std::int64_t batch, DType dtype);
/// Makes each element of `out` its channel's bias; false, and nothing done, where there is none.
bool fillWithBias(Queue& queue, const TensorView& bias, const TensorView& out);

/// The operands' distances from one product of a batch to the next, in elements.
struct Steps {
    std::int64_t a, b, c;
};
/// Runs `product` for all groups of some images: as one batch along the more numerous of the two.
void multiplyAll(Queue& queue, Product product, std::int64_t groups, Steps ofGroup, std::int64_t images,
                 Steps ofImage);

} // namespace twb::cuda
