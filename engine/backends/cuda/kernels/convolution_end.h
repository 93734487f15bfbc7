#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/kernel_table.h"

namespace twb::cuda {

/// What ends a convolution: a tensor of its result's shape is added (without data: none), and then each
/// element goes through a function.
struct ConvolutionEnd {
    TensorView other;
    Activation activation = Activation::none;
};

/// Adds a bias, one element for each of y's channels (without data: none), and ends the convolution that y is
/// the result of: one pass over y, which is dense. Sums of f16 and bf16 are kept in f32 until then.
void endConvolution(Queue& queue, const TensorView& bias, const ConvolutionEnd& end, const TensorView& y);

/// The Conv of a call with its end.
void convolveAndEnd(const KernelCall& call, const ConvolutionEnd& end);

} // namespace twb::cuda
