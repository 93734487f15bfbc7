#pragma once

#include "backends/cpu/window.h"
#include "core/tensor.h"

namespace twb {

/// The maximum under each window over two axes of a channels-last f32 tensor; NaN wins. Returns false without
/// a result for other tensors, for windows that lie in the padding as a whole, and without AVX2.
bool maxPoolChannelsLast(const Window& window, const TensorView& x, const TensorView& y);

} // namespace twb
