#pragma once

#include "backends/cuda/kernels/chain_kernel.h"
#include "core/tensor.h"

#include <span>

namespace twb::cuda {

/// The arguments of the kernel of a chain (pointwise ops fused into one kernel): up to kChainInputs inputs
/// that broadcast to `out`, which is dense. Throws Error(unsupported) if the strides of a tensor cannot be
/// reduced to kChainAxes axes.
ChainLaunch chainLaunchOf(std::span<const TensorView> inputs, const TensorView& out);
/// The number of threads with work.
std::int64_t threadsOf(const ChainLaunch& launch, DType dtype);

} // namespace twb::cuda
