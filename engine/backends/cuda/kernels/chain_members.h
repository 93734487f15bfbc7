#pragma once

#include "backends/cuda/kernels/queue.h"
#include "backends/op_chain.h"
#include "core/tensor.h"

#include <span>

namespace twb::cuda {

/// Runs the ops of a chain of pointwise ones one after the other, each by its own kernel, with what lies
/// between them in scratch memory. `inputs` broadcast to `out`, which is dense.
void runChainMembers(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                     Queue& queue);

} // namespace twb::cuda
