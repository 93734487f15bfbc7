#pragma once

#include "backends/op_chain.h"
#include "core/tensor.h"

#include <span>

namespace twb {

/// Runs a pointwise chain on the host, block by block: a block of each intermediate result stays in the
/// cache. Uses the host kernels of the members. The inputs broadcast to `out`, which is dense and may be the
/// same memory as an input of its shape. Throws what the kernels throw.
void runHostChain(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out);

} // namespace twb
