#pragma once

#include "core/tensor.h"

namespace twb {

/// The logarithm of Softmax along an axis, of f32 or f64. `out` is dense and may be the same memory as `in`.
void logSoftmax(const TensorView& in, const TensorView& out, int axis);

} // namespace twb
