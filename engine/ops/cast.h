#pragma once

#include "core/tensor.h"

namespace twb {

/// Cast's own loop: out[i] = in[i] in out's dtype (element::cast says how). `out` is dense, of in's shape.
void convertElements(const TensorView& in, const TensorView& out);

/// `in` as a dense tensor of a dtype: itself where it is one, else a copy that `owner` keeps.
TensorView denseAs(DType dtype, const TensorView& in, Tensor& owner);

} // namespace twb
