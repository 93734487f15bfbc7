#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

namespace twb::cuda {

/// Makes every element what `element`, in host memory, is.
void fillView(Queue& queue, const TensorView& out, const void* element);

} // namespace twb::cuda
