#pragma once

#include "backends/cuda/gpu.h"
#include "core/peak_gauge.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace twb::cuda {

/// A GPU's memory: a pool of CUDA's stream-ordered allocator, which keeps what is freed (its release
/// threshold is unlimited) and joins neighbouring pieces, so that no size classes of ours waste any. cudaFree
/// would stop the whole device; this does not.
///
/// Buffers are there for all streams when allocate() returns, and are free when the last owner lets go, which
/// is after the streams that use it have passed. Scratch memory of kernels comes and goes in one stream's
/// order.
class DeviceMemory final : public Allocator, public std::enable_shared_from_this<DeviceMemory> {
public:
    /// Touches nothing yet: a GPU that is only looked at gets no context.
    DeviceMemory(std::shared_ptr<Gpu> gpu, std::size_t totalBytes);
    ~DeviceMemory() override;

    BufferPtr allocate(std::size_t bytes, MemoryKind kind) override;
    MemoryStats stats() const override;
    void beginPeak() override;
    void trim() override;
    /// What the driver has free, and what the pool keeps.
    std::size_t freeBytes();

    /// In the order of `stream`. Throws as allocate().
    void* allocateOn(cudaStream_t stream, std::size_t bytes);
    void releaseOn(cudaStream_t stream, void* memory) noexcept;

    /// Lets `other` read and write this memory directly.
    void openTo(int other);

private:
    class Block;
    void prepare();
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
    cudaStream_t m_stream = nullptr; ///< of allocate() and release(), which no work is on
    std::vector<int> m_openTo;
    std::unordered_map<void*, PeakGauge::Share> m_scratch;
    PeakGauge m_gauge;
};

} // namespace twb::cuda
