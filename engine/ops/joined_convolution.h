#pragma once

#include "backends/kernel.h"

namespace twb {

/// Convolutions in f32 whose results are joined along axis 1. The inputs are x, w and the bias, which may be
/// unconnected, of each. Attributes: "strides", "dilations", "pads" and "group" of all convolutions one after
/// the other, and "relu", a flag for a Relu after each. Any layouts; where a kernel can, it writes its
/// channels of the joined tensor in place.
void joinedConvolutionKernel(const KernelContext& context);

} // namespace twb
