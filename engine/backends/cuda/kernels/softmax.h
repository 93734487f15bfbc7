#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

namespace twb::cuda {

/// The logarithm of softmax along an axis, of floats.
void logSoftmax(Queue& queue, const TensorView& in, const TensorView& out, int axis);

} // namespace twb::cuda
