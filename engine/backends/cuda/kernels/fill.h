#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

namespace twb::cuda {

/// Sets every element to `element`, which is in host memory.
void fillView(Queue& queue, const TensorView& out, const void* element);

} // namespace twb::cuda
