#pragma once

#include "core/narrow.h"
#include "core/tensor.h"

namespace twb {

/// out[i] = in[i] converted to out's dtype (see element::cast). `out` has in's shape and is dense or
/// channels-last. To a narrow float, the number is rounded once, as `how` says; to a narrow integer it is
/// converted like to a wider one.
void convertElements(const TensorView& in, const TensorView& out, Narrowing how = {});

/// The code of a number in a narrow dtype, rounded once; see convertElements.
template <class T> std::uint8_t narrowed(DType dtype, T x, Narrowing how);

/// `in` as a dense tensor of a dtype: `in` itself, or a copy held by `owner`.
TensorView denseAs(DType dtype, const TensorView& in, Tensor& owner);

} // namespace twb
