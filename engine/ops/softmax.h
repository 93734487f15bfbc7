#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace twb {

/// The logarithm of Softmax along an axis, of f32 or f64. `out` is dense and may be the same memory as `in`.
void logSoftmax(const TensorView& in, const TensorView& out, int axis);

/// out[i] = e ^ in[i]; both may be the same memory.
void exponentials(const float* in, float* out, std::int64_t count);
void exponentials(const double* in, double* out, std::int64_t count);

} // namespace twb
