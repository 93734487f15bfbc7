#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/kernel_table.h"

namespace twb::test {

/// A queue for kernels compiled for the host: they run on host memory when they are submitted.
class HostQueue : public cuda::Queue {
public:
    explicit HostQueue(const char* op) : m_op(op) {}
    const char* op() const override { return m_op; }
    void* stream() override { return nullptr; }
    void* blasHandle() override { return nullptr; }
    void* blasLtHandle() override { return nullptr; }
    cuda::Workspace blasWorkspace() override { return {}; }
    bool allowsTf32() const override { return false; }
    int multiprocessors() const override { return 2; }
    void* allocate(std::size_t bytes) override;
    void release(void* memory) noexcept override;
    void upload(void* target, const void* source, std::size_t bytes) override;
    cuda::Fault* fault() override { return &m_fault; }
    /// Implements a product's epilogue in place of the library.
    cuda::Ended endsProducts = cuda::Ended::none;

private:
    const char* m_op;
    cuda::Fault m_fault;
};

/// Whether there is a GPU kernel for an op on inputs of these dtypes.
bool hasCudaKernel(std::string_view op, std::span<const DType> dtypes);
/// Runs the GPU kernel of an op on the host. The kernel must exist.
void runCudaKernel(const char* op, const KernelContext& context);

} // namespace twb::test
