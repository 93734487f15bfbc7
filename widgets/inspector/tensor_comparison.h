#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace twb {

/// How two host tensors of one shape differ.
struct TensorComparison {
    std::int64_t count = 0;
    std::int64_t differing = 0;
    double maxAbs = 0; ///< of |a − b|
    double maxRel = 0; ///< of |a − b| / |b|; inf where only b is 0
    double meanAbs = 0;
    std::int64_t worst =
        -1; ///< element of the largest |a − b|, a NaN in one alone before all; -1: none differs
    double worstA = 0;
    double worstB = 0;
    Tensor difference; ///< f32, of their shape: |a − b|
    Tensor relative;   ///< f32: |a − b| / |b|
};

/// Two NaNs are alike, and so are two infinities of one sign; a NaN in one alone differs by inf. Throws
/// Error(invalidArgument) when the shapes differ.
TensorComparison compare(const Tensor& a, const Tensor& b);

} // namespace twb
