#pragma once

#include "backends/cpu/window.h"
#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

#include <cstdint>

namespace twb::cuda {

enum class ConvolutionKind : std::uint8_t {
    forward,
    transposed,    ///< the window slides from y to x, and y is the gradient of its input
    weightGradient ///< w is computed, from x and from the gradient y
};

/// y = w * x for floats of one dtype; w is dense, x has any layout.
struct ConvolutionCall {
    Queue& queue;
    const Window& window;
    std::int64_t groups;
    const TensorView &x, &w, &y;
    ConvolutionKind kind = ConvolutionKind::forward;
};

/// Uses cuDNN if it is available and has a deterministic algorithm for the sizes. Otherwise returns false
/// without an effect.
bool convolveNatively(const ConvolutionCall& call);

} // namespace twb::cuda
