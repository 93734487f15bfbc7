#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

#include <cstdint>

namespace twb::cuda {

/// y = w * x: floats of one dtype; w dense, x of any layout. Or transposed: the window is that of a
/// convolution which leads from y to x, and y gets what each element of x was made from.
struct ConvolutionCall {
    Queue& queue;
    const Window& window;
    std::int64_t groups;
    const TensorView &x, &w, &y;
    bool isTransposed = false;
};

/// By cuDNN, where that is there and has a plan for the sizes that gives the same bits each time; false, and
/// nothing done that the caller need undo, where not.
bool convolveNatively(const ConvolutionCall& call);

} // namespace twb::cuda
