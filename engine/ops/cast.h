#pragma once

#include "core/tensor.h"

namespace twb {

/// out[i] = in[i] converted to out's dtype (see element::cast). `out` is dense and has in's shape.
void convertElements(const TensorView& in, const TensorView& out);

/// `in` as a dense tensor of a dtype: `in` itself, or a copy held by `owner`.
TensorView denseAs(DType dtype, const TensorView& in, Tensor& owner);

} // namespace twb
