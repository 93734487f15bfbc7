#pragma once

#include "backends/cpu/convolution.h"

namespace twb {

/// A convolution of channels-last f32 tensors with constant weights by Winograd's algorithm, which multiplies
/// less often than by the definition. y may be a part of the channels of a channels-last tensor. Null if the
/// sizes do not fit, if it does not pay, or without AVX2. Activations other than Relu and Clip are left out.
std::unique_ptr<NativeConvolution> makeWinograd(const Convolution& sizes,
                                                const NativeConvolution::Tensors& tensors,
                                                const ProductEnding& ending);

} // namespace twb
