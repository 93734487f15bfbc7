#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace twb::cuda {

/// "an illegal memory access was encountered (cudaErrorIllegalAddress)".
std::string sentenceOf(cudaError_t status);

/// Whether the GPU is lost after this error: CUDA documents that every later call returns it again until the
/// process is started anew.
bool isFatal(cudaError_t status) noexcept;

/// Throws Error(failed) if `status` is an error: "CUDA reports … while `doing`". Clears the error, so that
/// the next call does not report it again.
void check(cudaError_t status, const char* doing);

} // namespace twb::cuda
