#pragma once

#include "backends/cpu/convolution.h"
#include "backends/cpu/packed_product_loops.h"

namespace twb {

/// The kernels for this CPU; null without AVX2.
const PanelKernels* panelKernels();

/// A product with constant weights, which are packed at the first run, with any ending.
std::unique_ptr<NativeConvolution> makePackedProduct(const WeightedProduct& sizes,
                                                     const PanelKernels& kernels);

} // namespace twb
