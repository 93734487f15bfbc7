#pragma once

#include "backends/cuda/kernels/queue.h"
#include "backends/op_chain.h"
#include "core/tensor.h"

#include <span>

namespace twb::cuda {

/// Runs the ops of a chain one after the other, each with its own kernel, with intermediate results in
/// scratch memory. `inputs` broadcast to `out`, which is dense.
void runChainMembers(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                     Queue& queue);

} // namespace twb::cuda
