#pragma once

#include "backends/op_chain.h"
#include "core/dtype.h"

#include <string>

namespace twb::cuda {

/// The name of a chain's kernel.
inline constexpr const char* kChainKernel = "chain";
/// Threads per block.
inline constexpr int kChainThreads = 256;

/// Whether chains may include this op: an elementwise function of f16, bf16, f32 or f64. Ports that the host
/// reads do not count.
bool isChainMember(const char* op, const Attributes& attributes, DType dtype);

/// C++20 source without includes, for NVRTC: the element functions (ops/element_functions.h), and a kernel
/// `chain` that takes a ChainLaunch (kernels/chain_kernel.h). Each result is rounded to the dtype, as if it
/// had been stored. The same chain always gives the same text. For other compilers the source defines
/// `runChainOnHost(const ChainLaunch*)` instead of the kernel.
std::string chainSource(const OpChain& chain, DType dtype);

} // namespace twb::cuda
