#include "backends/cpu/blas.h"
#include "backends/cpu/onednn.h"
#include "core/error.h"

#include <fmt/format.h>

#include <dnnl.h>

namespace twb::onednn {

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, MatrixOperand<float> a,
              MatrixOperand<float> b, float beta, float* c, std::int64_t cStride) {
    // The first product generates code, and crashes if there is no room for it.
    static const bool hadRoom = (requireRoom("oneDNN", std::size_t{64} << 20), true);
    static_cast<void>(hadRoom);
    const dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k,
                                            alpha, a.data, a.stride, b.data, b.stride, beta, c, cStride);
    if (status == dnnl_success) return;
    throw Error(status == dnnl_out_of_memory ? ErrorCode::outOfMemory : ErrorCode::failed,
                fmt::format("oneDNN cannot compute a matrix product {} × {} × {}{}", m, k, n,
                            status == dnnl_out_of_memory
                                ? ": not enough memory for its work buffers. Use fewer threads "
                                  "(OMP_NUM_THREADS=1)"
                                : ""));
}

} // namespace twb::onednn
