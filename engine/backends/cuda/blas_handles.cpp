#include "backends/cuda/blas_handles.h"

#include "core/error.h"

#include <cublasLt.h>
#include <cublas_v2.h>
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
}

} // namespace

BlasHandles::~BlasHandles() {
    for (const BlasPair& pair : m_free) destroy(pair);
}

BlasPair BlasHandles::take() {
    {
        const std::scoped_lock lock(m_mutex);
        if (!m_free.empty()) {
            const BlasPair pair = m_free.back();
            m_free.pop_back();
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
    return {blas, blasLt};
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
    checkBlas(cublasSetStream(static_cast<cublasHandle_t>(pair.blas), stream), "choosing a stream");
}

} // namespace twb::cuda
