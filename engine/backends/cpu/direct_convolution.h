#pragma once

#include "backends/cpu/convolution.h"

namespace twb {

struct DirectKernels;

/// The kernels for this CPU; null without AVX2.
const DirectKernels* directKernels();

/// The elements from one position to the next if the view is a channels-last tensor or a part of the channels
/// of one; else 0.
std::int64_t positionStep(const TensorView& view);

/// A convolution of channels-last f32 tensors with constant weights and one group, as a matrix product that
/// fetches its weights ahead. Null if another kernel is as fast, or for other sizes, layouts and activations
/// than none, Relu and Clip. y may be a part of the channels of a channels-last tensor, which few other
/// kernels write.
std::unique_ptr<NativeConvolution>
makeDirect(const Convolution& sizes, const NativeConvolution::Tensors& tensors, const ProductEnding& ending);

/// The same, also if another kernel is faster.
std::unique_ptr<NativeConvolution> makeAnyDirect(const Convolution& sizes,
                                                 const NativeConvolution::Tensors& tensors,
                                                 const ProductEnding& ending);

} // namespace twb
