#pragma once

#include "backends/cpu/window.h"
#include "backends/kernel.h"

namespace twb {

/// A convolution's sizes: x is batch × groups·inChannels × window's inputs, w is groups·outChannels ×
/// inChannels × taps, y is batch × groups·outChannels × window's positions. All dense and row-major but where
/// it says otherwise; channels are those of one group.
struct Convolution {
    Window window;
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t inChannels = 1;
    std::int64_t outChannels = 1;
};

/// y = w * x + bias as a primitive of oneDNN, in f32 or in bf16 with sums in f32: made once for the sizes and
/// layouts of a step's tensors, for launches that come one after the other.
class NativeConvolution : public KernelState {
public:
    /// x and y are row-major or channels last, w and bias dense; without a bias its data is null. Null when
    /// this machine has no primitive for them.
    static std::unique_ptr<NativeConvolution> make(const Convolution& sizes, const TensorView& x,
                                                   const TensorView& bias, const TensorView& y);
    /// `constantWeights`: w holds the same elements at every run, so what is made of it is kept.
    virtual void run(const void* x, const void* w, const void* bias, void* y, bool constantWeights) = 0;
};

/// y = w * x + bias, bias null for none, by unfolding x and multiplying.
void convolve(const Convolution& sizes, const float* x, const float* w, const float* bias, float* y);
void convolve(const Convolution& sizes, const double* x, const double* w, const double* bias, double* y);
/// Wrapping.
void convolve(const Convolution& sizes, const std::int32_t* x, const std::int32_t* w, std::int32_t* y);

/// The transpose: x has the sizes of y above and the result those of x, from w groups·outChannels ×
/// inChannels × taps, with a bias for each of the result's channels. float goes to oneDNN where it
/// has a primitive for the sizes.
void convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);
void convolveTransposed(const Convolution& sizes, const double* x, const double* w, const double* bias,
                        double* y);

} // namespace twb
