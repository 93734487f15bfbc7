#include "backends/cuda/cuda_error.h"

#include "core/error.h"

#include <fmt/format.h>

namespace twb::cuda {

std::string sentenceOf(cudaError_t status) {
    return fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
}

void check(cudaError_t status, const char* doing) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    throw Error(ErrorCode::failed, fmt::format("CUDA reports: {}, while {}", sentenceOf(status), doing));
}

} // namespace twb::cuda
