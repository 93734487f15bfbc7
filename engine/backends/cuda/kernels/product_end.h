#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "core/attributes.h"

#include <string_view>

namespace twb::cuda {

/// The epilogue of cuBLASLt for an op with these attributes; none if there is none. Its only Gelu is the tanh
/// form.
Activation activationOf(std::string_view op, const Attributes& attributes);

/// Whether products of this dtype can have this op as epilogue (Backend::endsProduct).
bool isProductEnd(std::string_view op, const Attributes& attributes, DType dtype);

} // namespace twb::cuda
