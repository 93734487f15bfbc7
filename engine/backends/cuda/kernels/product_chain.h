#pragma once

#include "backends/cuda/kernels/kernel_table.h"
#include "backends/op_chain.h"

namespace twb::cuda {

/// Submits a chain of OpChain::Kind::product with the call's inputs; the call's attributes are unused. Sums
/// of f16 and bf16 are kept in f32 until a row is added, and a convolution's until the end, so they are
/// rounded less often than with separate launches.
void runProductChain(const OpChain& chain, const KernelCall& call);

} // namespace twb::cuda
