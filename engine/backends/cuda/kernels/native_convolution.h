#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

#include <cstdint>

namespace twb::cuda {

/// y = w * x for floats of one dtype; w is dense, x has any layout. Transposed: the window is that of a
/// convolution from y to x, and y is the gradient of its input.
struct ConvolutionCall {
    Queue& queue;
    const Window& window;
    std::int64_t groups;
    const TensorView &x, &w, &y;
    bool isTransposed = false;
};

/// Uses cuDNN if it is available and has a deterministic algorithm for the sizes. Otherwise returns false
/// without an effect.
bool convolveNatively(const ConvolutionCall& call);

} // namespace twb::cuda
