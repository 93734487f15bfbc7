#include "backends/cuda/blas_handles.h"

#include "core/error.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <new>

namespace twb::cuda {
namespace {

void checkBlas(cublasStatus_t status, const char* doing) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::outOfMemory : ErrorCode::failed,
                fmt::format("cuBLAS reports {} while {}", cublasGetStatusName(status), doing));
}

void destroy(const BlasPair& pair) noexcept {
    if (pair.blas) cublasDestroy(static_cast<cublasHandle_t>(pair.blas));
    if (pair.blasLt) cublasLtDestroy(static_cast<cublasLtHandle_t>(pair.blasLt));
    cudaFree(pair.workspace.data);
}

/// The workspace size that cuBLAS's documentation recommends: 32 MiB from compute capability 9.0 on. Before,
/// 4 MiB, doubled here so that cuBLAS can choose among more kernels. Null if memory is short.
Workspace makeWorkspace() noexcept {
    int gpu = 0;
    int major = 0;
    Workspace made;
    if (cudaGetDevice(&gpu) == cudaSuccess &&
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu) == cudaSuccess) {
        const std::size_t bytes = std::size_t{major >= 9 ? 32U : 8U} << 20;
        if (cudaMalloc(&made.data, bytes) == cudaSuccess) made.bytes = bytes;
    }
    cudaGetLastError();
    return made;
}

} // namespace

BlasHandles::~BlasHandles() {
    for (const BlasPair& pair : m_free) destroy(pair);
}

BlasPair BlasHandles::take() {
    {
        const std::scoped_lock lock(m_mutex);
        if (!m_free.empty()) {
            BlasPair pair = m_free.back();
            m_free.pop_back();
            if (pair.workspace.bytes == 0) pair.workspace = makeWorkspace(); // retries after a lack of memory
            return pair;
        }
    }
    cublasHandle_t blas = nullptr;
    checkBlas(cublasCreate(&blas), "starting");
    cublasLtHandle_t blasLt = nullptr;
    if (const cublasStatus_t status = cublasLtCreate(&blasLt); status != CUBLAS_STATUS_SUCCESS) {
        cublasDestroy(blas);
        checkBlas(status, "starting cuBLASLt");
    }
    const BlasPair made{blas, blasLt, makeWorkspace()};
    // Partial sums of f16 and bf16 are kept in f32.
    constexpr auto math =
        static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (const cublasStatus_t status = cublasSetMathMode(blas, math); status != CUBLAS_STATUS_SUCCESS) {
        destroy(made);
        checkBlas(status, "starting");
    }
    return made;
}

void BlasHandles::giveBack(BlasPair pair) noexcept {
    const std::scoped_lock lock(m_mutex);
    try {
        m_free.push_back(pair);
    } catch (const std::bad_alloc&) {
        destroy(pair);
    }
}

void setBlasStream(const BlasPair& pair, cudaStream_t stream) {
    auto* const blas = static_cast<cublasHandle_t>(pair.blas);
    checkBlas(cublasSetStream(blas, stream), "choosing a stream");
    // Setting the stream resets the workspace to the library's own.
    if (pair.workspace.bytes > 0)
        checkBlas(cublasSetWorkspace(blas, pair.workspace.data, pair.workspace.bytes),
                  "setting its workspace");
}

} // namespace twb::cuda
