#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace twb::cuda {

/// "an illegal memory access was encountered (cudaErrorIllegalAddress)".
std::string sentenceOf(cudaError_t status);

/// Throws Error(failed) if `status` is an error: "CUDA reports … while `doing`". Clears the error, so that
/// the next call does not report it again.
void check(cudaError_t status, const char* doing);

} // namespace twb::cuda
