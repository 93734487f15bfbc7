#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

#include <cstdint>

namespace twb::cuda {

/// y = w * x + bias: floats of one dtype; w dense, x and bias of any layout, a bias without data none.
struct ConvolutionCall {
    Queue& queue;
    const Window& window;
    std::int64_t groups;
    const TensorView &x, &w, &bias, &y;
};

/// By cuDNN, where that is there and has a plan for the sizes; false, and nothing done, where not.
bool convolveNatively(const ConvolutionCall& call);

} // namespace twb::cuda
