#pragma once

#include "backends/cuda/gpu.h"
#include "backends/cuda/kernels/queue.h"

#include <memory>
#include <mutex>
#include <vector>

namespace twb::cuda {

/// A cublasHandle_t and a cublasLtHandle_t of one GPU, and their common workspace. With the library's own
/// workspace, each product captured in a CUDA graph would allocate memory again.
struct BlasPair {
    void* blas = nullptr;
    void* blasLt = nullptr;
    Workspace workspace{};
};

/// cuBLAS handles that streams borrow, because creating one takes long. Thread-safe.
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

/// Sets the stream and the workspace of a cuBLAS handle.
void setBlasStream(const BlasPair& pair, cudaStream_t stream);

} // namespace twb::cuda
