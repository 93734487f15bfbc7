#pragma once

#include "backends/op_chain.h"
#include "core/dtype.h"

#include <string>

namespace twb::cuda {

/// The name of a chain's kernel.
inline constexpr const char* kChainKernel = "chain";
/// Threads of each of its blocks.
inline constexpr int kChainThreads = 256;

/// Whether chains may have this op: a function of elements of f16, bf16, f32 or f64, whatever the ports that
/// the host reads.
bool isChainMember(const char* op, const Attributes& attributes, DType dtype);

/// C++20 that needs no header, for NVRTC: the functions of one element themselves (ops/element_functions.h),
/// and a kernel `chain` that takes a ChainLaunch (kernels/chain_kernel.h). Each result is rounded to the
/// dtype as if it had been stored. The same chain gives the same text. Any other compiler than a GPU's finds
/// `runChainOnHost(const ChainLaunch*)` in the kernel's place.
std::string chainSource(const OpChain& chain, DType dtype);

} // namespace twb::cuda
