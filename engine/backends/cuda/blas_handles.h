#pragma once

#include "backends/cuda/gpu.h"
#include "backends/cuda/kernels/queue.h"

#include <memory>
#include <mutex>
#include <vector>

namespace twb::cuda {

/// A cublasHandle_t and a cublasLtHandle_t of one GPU, and the memory that both work in, one after the other.
/// Were it the library's own, each product that is captured in a CUDA graph would allocate anew.
struct BlasPair {
    void* blas = nullptr;
    void* blasLt = nullptr;
    Workspace workspace{};
};

/// cuBLAS handles to lend to streams: making one takes long, and runs come and go. Thread-safe.
class BlasHandles {
public:
    ~BlasHandles();
    /// The GPU must be current. Throws Error(failed).
    BlasPair take();
    void giveBack(BlasPair pair) noexcept;

private:
    std::mutex m_mutex;
    std::vector<BlasPair> m_free;
};

/// What a cuBLAS handle works on from now on.
void setBlasStream(const BlasPair& pair, cudaStream_t stream);

} // namespace twb::cuda
