#pragma once

#include "backends/cuda/gpu.h"
#include "core/peak_gauge.h"

#include <map>
#include <memory>
#include <mutex>

namespace twb::cuda {

/// Page-locked host memory. Pinning pages takes long and unpinning stops the device, so freed blocks are kept
/// for reuse until trim().
class PinnedMemory final : public Allocator, public std::enable_shared_from_this<PinnedMemory> {
public:
    /// `limit` in bytes: pinned pages are not available to other programs.
    PinnedMemory(std::shared_ptr<Gpu> gpu, std::size_t limit);
    ~PinnedMemory() override;

    BufferPtr allocate(std::size_t bytes, MemoryKind kind) override;
    MemoryStats stats() const override;
    void beginPeak() override;
    void trim() override;

private:
    class Block;
    void release(void* memory, const PeakGauge::Share& share) noexcept;
    void trimLocked() noexcept;

    const std::shared_ptr<Gpu> m_gpu;
    const std::size_t m_limit;
    mutable std::mutex m_mutex;
    std::multimap<std::size_t, void*> m_kept;
    PeakGauge m_gauge;
    std::size_t m_cached = 0;
};

} // namespace twb::cuda
