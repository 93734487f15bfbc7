#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "core/attributes.h"

#include <string_view>

namespace twb::cuda {

/// What cuBLASLt can do at the end of a product that is this op with these attributes; none where it cannot.
/// It has one Gelu, and that is the one with tanh.
Activation activationOf(std::string_view op, const Attributes& attributes);

/// Whether products of this dtype are launched with this op at their end (Backend::endsProduct).
bool isProductEnd(std::string_view op, const Attributes& attributes, DType dtype);

} // namespace twb::cuda
