#pragma once

#include "core/buffer.h"

#include <memory>

namespace twb {

/// Host memory with a budget and a cache of freed blocks by size class. Serves the cpu, and, with a kind
/// and a budget of their own, the memory spaces of simulated accelerators. Whatever the budget, no more is
/// given out than this machine can hold.
///
/// Blocks of up to 1 MiB are rounded to powers of two; larger ones to 1 MiB and reused when the rest that
/// is wasted stays under an eighth.
class CachingAllocator final : public Allocator {
public:
    CachingAllocator(Device device, MemoryKind kind, std::size_t budget);
    ~CachingAllocator() override;

    BufferPtr allocate(std::size_t bytes, MemoryKind kind) override;
    MemoryStats stats() const override;
    void beginPeak() override;
    void trim() override;

private:
    class Pool;
    std::shared_ptr<Pool> m_pool; ///< shared with the buffers, which may outlive the allocator
};

} // namespace twb
