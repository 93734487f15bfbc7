#pragma once

#include "backends/cpu/convolution.h"

namespace twb::onednn {

/// As in convolution.h, of tensors that are not empty. Null, or false with nothing done, when oneDNN has no
/// primitive that is better than its reference loops.
std::unique_ptr<NativeConvolution> makeConvolution(const Convolution& sizes, const TensorView& x,
                                                   const TensorView& bias, const TensorView& y);
bool convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);

} // namespace twb::onednn
