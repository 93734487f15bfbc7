#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/kernel_table.h"

namespace twb::cuda {

/// The epilogue of a convolution: adds a tensor of the result's shape (without data: none), then applies a
/// function to each element.
struct ConvolutionEnd {
    TensorView other;
    Activation activation = Activation::none;
};

/// Adds a bias, one element per channel of y (without data: none), and applies the epilogue, in one pass over
/// y, which is dense. Sums of f16 and bf16 are kept in f32 until then.
void endConvolution(Queue& queue, const TensorView& bias, const ConvolutionEnd& end, const TensorView& y);

/// The Conv of a call, with its epilogue.
void convolveAndEnd(const KernelCall& call, const ConvolutionEnd& end);

} // namespace twb::cuda
