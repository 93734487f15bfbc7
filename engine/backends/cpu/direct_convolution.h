#pragma once

#include "backends/cpu/convolution.h"

namespace twb {

struct DirectKernels;

/// The kernels for this CPU; null without AVX2.
const DirectKernels* directKernels();

/// A convolution of channels-last f32 tensors with constant weights and one group, as a matrix product that
/// fetches its weights ahead. Null if another kernel is as fast, or for other sizes, layouts and activations
/// than none, Relu and Clip.
std::unique_ptr<NativeConvolution>
makeDirect(const Convolution& sizes, const NativeConvolution::Tensors& tensors, const ProductEnding& ending);

} // namespace twb
