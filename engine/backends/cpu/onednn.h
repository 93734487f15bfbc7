#pragma once

#include "backends/cpu/convolution.h"
#include "backends/cpu/gemm.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace twb::onednn {

// oneDNN's primitives in f32, and in bf16 with f32 arithmetic. Tensors are not empty, and row-major unless
// stated otherwise. A function returns null, or false without an effect, if oneDNN has no primitive that is
// better than its reference loops.

/// As gemm() in gemm.h, with strides of at least 1. Throws Error(outOfMemory).
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, MatrixOperand<float> a,
              MatrixOperand<float> b, float beta, float* c, std::int64_t cStride);

/// As in convolution.h.
std::unique_ptr<NativeConvolution> makeConvolution(const Convolution& sizes,
                                                   const NativeConvolution::Tensors& tensors,
                                                   const ProductEnding& ending);
bool convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);

bool convolutionWeights(const Convolution& sizes, const float* x, const float* dy, float* dw);

/// Whether a mean counts the padding's elements.
enum class Pooling : std::uint8_t { max, average, averageWithPadding };
/// x and y are both row-major or both channels-last. Also false for the maximum of a tensor with NaN, or of a
/// window of −∞, which oneDNN ignores; y is written then.
bool pool(Pooling kind, const Window& window, const TensorView& x, const TensorView& y);

/// The parameters of BatchNormalization, per channel.
struct ChannelFactors {
    std::vector<float> mean, variance, scale, bias;
};
/// y = (x − mean) / √(variance + epsilon) · scale + bias for channels-last tensors. y may be x.
bool normalizeChannels(const TensorView& x, const ChannelFactors& factors, double epsilon,
                       const TensorView& y);

/// Normalizes each row of x to mean 0 and variance 1. scale and bias have one row's size and may be null.
bool normalizeRows(DType dtype, std::int64_t rows, std::int64_t length, const void* x, const float* scale,
                   const float* bias, double epsilon, void* y);

/// y = x / (bias + alpha / size · Σ x²) ^ beta, summed over `size` neighbouring channels.
struct LocalResponse {
    std::int64_t size = 5;
    double alpha = 0, beta = 0, bias = 0;
};
bool normalizeAcrossChannels(const LocalResponse& response, const TensorView& x, const TensorView& y);

} // namespace twb::onednn
