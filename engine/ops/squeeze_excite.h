#pragma once

#include "backends/kernel.h"

namespace twb {

/// A squeeze-and-excitation block in f32: the means of each channel of x go through two products, and the
/// sigmoids of the results are the factors of x's channels. The inputs are x, the first weights (inner ×
/// channels) and their bias, the second weights (channels × inner) and their bias. Attributes: "activation",
/// the op between the products, "Relu" or "Swish", and its "alpha". Any layouts; in place.
void squeezeExciteKernel(const KernelContext& context);

} // namespace twb
