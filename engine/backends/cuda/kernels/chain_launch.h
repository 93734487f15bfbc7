#pragma once

#include "backends/cuda/kernels/chain_kernel.h"
#include "core/tensor.h"

#include <span>

namespace twb::cuda {

/// What a chain's kernel is given: up to kChainInputs inputs that broadcast to `out`, which is dense. Throws
/// Error(unsupported) for a tensor that lies in memory in too many separate axes.
ChainLaunch chainLaunchOf(std::span<const TensorView> inputs, const TensorView& out);
/// How many threads have something to do in it.
std::int64_t threadsOf(const ChainLaunch& launch, DType dtype);

} // namespace twb::cuda
