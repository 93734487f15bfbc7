#pragma once

#include "backends/kernel.h"

namespace twb {

/// BatchNormalization with given statistics of tensors that are joined along axis 1, in f32: the inputs are
/// the tensors, then scale, bias, mean and variance. Attributes: "epsilon", and "relu", a flag for a Relu at
/// the end. The bits are those of the ops one by one. Any layouts.
void joinedNormalizationKernel(const KernelContext& context);

} // namespace twb
