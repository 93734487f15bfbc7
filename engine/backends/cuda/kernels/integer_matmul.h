#pragma once

#include "backends/cuda/kernels/matrix.h"

namespace twb::cuda {

/// out = a × b for integers of 32 or 64 bits, with wrapping; batches broadcast. `out` is dense.
void multiplyIntegers(Queue& queue, const MatrixStack& a, const MatrixStack& b, const TensorView& out);

} // namespace twb::cuda
