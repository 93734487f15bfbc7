#pragma once

#include "core/buffer.h"

#include <memory>

namespace twb {

/// Host memory with a budget and a cache of freed blocks by size class. It serves the cpu and, with their own
/// kinds and budgets, the memory of simulated accelerators. It never allocates more than the machine can
/// hold.
///
/// Blocks of up to 1 MiB are rounded to powers of two, larger ones to 1 MiB. A larger block is reused if less
/// than an eighth of it is wasted.
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
