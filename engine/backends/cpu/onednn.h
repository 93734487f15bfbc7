#pragma once

#include "backends/cpu/convolution.h"
#include "core/dtype.h"

namespace twb::onednn {

/// Runs a convolution (or its transpose) as a primitive of oneDNN. False, with nothing done, when oneDNN has
/// none that is better than its reference loops. Memory as in convolution.h, of dtype f32 or bf16.
bool convolve(const Convolution& sizes, DType dtype, const void* x, const void* w, const void* bias, void* y,
              bool transposed);

} // namespace twb::onednn
