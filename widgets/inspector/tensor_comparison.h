#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace twb {

/// The difference between two host tensors of one shape.
struct TensorComparison {
    std::int64_t count = 0;
    std::int64_t differing = 0;
    double maxAbs = 0; ///< of |a − b|
    double maxRel = 0; ///< of |a − b| / |b|; inf if only b is 0
    double meanAbs = 0;
    std::int64_t worst =
        -1; ///< index of the largest |a − b|; a NaN in only one tensor is the largest; -1: no difference
    Tensor difference; ///< f32, of the same shape: |a − b|
    Tensor relative;   ///< f32: |a − b| / |b|
};

/// Two NaNs are equal, and so are two infinities of one sign; a NaN in only one tensor differs by inf. Throws
/// Error(invalidArgument) if the shapes differ.
TensorComparison compare(const Tensor& a, const Tensor& b);

} // namespace twb
