#include "backends/cuda/cuda_error.h"

#include "core/error.h"

#include <fmt/format.h>

namespace twb::cuda {

std::string sentenceOf(cudaError_t status) {
    return fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
}

// Source: CUDA Runtime API, Data types used by CUDA Runtime, cudaError.
bool isFatal(cudaError_t status) noexcept {
    switch (status) {
    case cudaErrorUnknown:
    case cudaErrorAssert:
    case cudaErrorContextIsDestroyed:
    case cudaErrorECCUncorrectable:
    case cudaErrorExternalDevice:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorNvlinkUncorrectable:
        return true;
    default:
        return false;
    }
}

void check(cudaError_t status, const char* doing) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    throw Error(ErrorCode::failed, fmt::format("CUDA reports: {}, while {}", sentenceOf(status), doing));
}

} // namespace twb::cuda
