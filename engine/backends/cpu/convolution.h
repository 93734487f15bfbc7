#pragma once

#include "backends/cpu/window.h"

namespace twb {

/// A convolution's sizes: x is batch × groups·inChannels × window's inputs, w is groups·outChannels ×
/// inChannels × taps, y is batch × groups·outChannels × window's positions. All dense and row-major; channels
/// are those of one group.
struct Convolution {
    Window window;
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t inChannels = 1;
    std::int64_t outChannels = 1;
};

/// y = w * x + bias, bias null for none. float goes to oneDNN where it has a primitive for the sizes;
/// everything else is unfolded and multiplied.
void convolve(const Convolution& sizes, const float* x, const float* w, const float* bias, float* y);
void convolve(const Convolution& sizes, const double* x, const double* w, const double* bias, double* y);
/// Wrapping.
void convolve(const Convolution& sizes, const std::int32_t* x, const std::int32_t* w, std::int32_t* y);
/// In bf16 with sums in f32, when this machine has instructions for it and oneDNN a primitive: else false,
/// and nothing is done.
bool convolveNatively(const Convolution& sizes, const BFloat16* x, const BFloat16* w, const BFloat16* bias,
                      BFloat16* y);

/// The transpose: x has the sizes of y above and the result those of x, from w groups·outChannels ×
/// inChannels × taps, with a bias for each of the result's channels.
void convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);
void convolveTransposed(const Convolution& sizes, const double* x, const double* w, const double* bias,
                        double* y);

} // namespace twb
