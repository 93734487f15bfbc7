#pragma once

#include "backends/cuda/kernels/kernel_table.h"
#include "backends/op_chain.h"

namespace twb::cuda {

/// Submits a chain of OpChain::Kind::product, whose inputs are the call's; the call's attributes are none.
/// Sums of f16 and bf16 are kept in f32 until a row is added, and a convolution's until all is done, so they
/// are rounded less often than one by one.
void runProductChain(const OpChain& chain, const KernelCall& call);

} // namespace twb::cuda
