#pragma once

#include "backends/cpu/convolution.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace twb::onednn {

// What oneDNN has primitives for, in f32 and in bf16 with arithmetic in f32. Of tensors that are not empty,
// and row-major where nothing else is said. Null, or false with nothing done, when it has none for these
// sizes and layouts that is better than its reference loops.

/// As in convolution.h.
std::unique_ptr<NativeConvolution> makeConvolution(const Convolution& sizes, const TensorView& x,
                                                   const TensorView& bias, const TensorView& y);
bool convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);

/// A mean is that of the elements under the window, or of those of the padding as well.
enum class Pooling : std::uint8_t { max, average, averageWithPadding };
/// x and y are both row-major or both channels last. False for the maximum of what holds NaN or −∞, too,
/// which oneDNN passes over.
bool pool(Pooling kind, const Window& window, const TensorView& x, const TensorView& y);

/// What BatchNormalization knows of each channel.
struct ChannelFactors {
    std::vector<float> mean, variance, scale, bias;
};
/// y = (x − mean) / √(variance + epsilon) · scale + bias of tensors that lie channels last. y may be x.
bool normalizeChannels(const TensorView& x, const ChannelFactors& factors, double epsilon,
                       const TensorView& y);

/// Brings each row of x to the mean 0 and the variance 1; scale and bias, which may be null, are one row's.
bool normalizeRows(DType dtype, std::int64_t rows, std::int64_t length, const void* x, const float* scale,
                   const float* bias, double epsilon, void* y);

/// y = x / (bias + alpha / size · Σ x²) ^ beta, summed over `size` neighbouring channels.
struct LocalResponse {
    std::int64_t size = 5;
    double alpha = 0, beta = 0, bias = 0;
};
bool normalizeAcrossChannels(const LocalResponse& response, const TensorView& x, const TensorView& y);

} // namespace twb::onednn
