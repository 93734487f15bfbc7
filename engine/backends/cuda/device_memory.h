#pragma once

#include "backends/cuda/gpu.h"
#include "core/peak_gauge.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace twb::cuda {

/// A GPU's memory: a pool of CUDA's stream-ordered allocator. The pool keeps freed memory (unlimited release
/// threshold) and merges neighbouring blocks, so size classes are not needed. Unlike cudaFree, it does not
/// stop the device.
///
/// A buffer is usable in all streams when allocate() returns. Its last owner frees it. The owner must first
/// wait until all streams that use it have passed their work on it. Scratch memory follows one stream's
/// order.
class DeviceMemory final : public Allocator, public std::enable_shared_from_this<DeviceMemory> {
public:
    /// Does not touch the GPU: no context is created until memory is needed.
    DeviceMemory(std::shared_ptr<Gpu> gpu, std::size_t totalBytes);
    ~DeviceMemory() override;

    BufferPtr allocate(std::size_t bytes, MemoryKind kind) override;
    MemoryStats stats() const override;
    void beginPeak() override;
    void trim() override;
    /// Free memory of the driver and of the pool.
    std::size_t freeBytes();

    /// Allocates scratch memory in the order of `stream`. Throws Error(outOfMemory).
    void* allocateOn(cudaStream_t stream, std::size_t bytes);
    void releaseOn(cudaStream_t stream, void* memory) noexcept;

    /// Gives the GPU with CUDA ordinal `other` direct access to this pool.
    void openTo(int other);

private:
    class Block;
    void prepare();
    void configure(cudaMemPool_t pool) const;
    void allowWaiting(bool may) noexcept;
    void release(void* memory, const PeakGauge::Share& share) noexcept;
    cudaError_t take(void** memory, std::size_t bytes, cudaStream_t stream);
    [[noreturn]] void refuse(std::size_t bytes);
    std::size_t keptLocked() const;
    void trimLocked() noexcept;

    const std::shared_ptr<Gpu> m_gpu;
    const std::size_t m_total;
    mutable std::mutex m_mutex;
    cudaMemPool_t m_pool = nullptr;
    cudaStream_t m_stream = nullptr; ///< for allocate() and release(); it never has kernels
    std::vector<int> m_openTo;
    std::unordered_map<void*, PeakGauge::Share> m_scratch;
    PeakGauge m_gauge;
};

} // namespace twb::cuda
