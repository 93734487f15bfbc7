#pragma once

#include "backends/cpu/convolution.h"

namespace twb {

/// A convolution to a channels-last f32 tensor with constant weights: of a row-major image with a few
/// channels, or of a channels-last tensor with windows of one element or with one channel per group. Its
/// ending costs less than oneDNN's. Null if the sizes do not fit, for activations that it does not have, or
/// without AVX2.
std::unique_ptr<NativeConvolution> makeChannelsLast(const Convolution& sizes,
                                                    const NativeConvolution::Tensors& tensors,
                                                    const ProductEnding& ending);

} // namespace twb
