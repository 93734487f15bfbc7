#pragma once

#include "core/buffer.h"

#include <cstddef>
#include <vector>

namespace twb {

/// The asynchronous copies of a device, as used by staging.
class CopyQueue {
public:
    virtual ~CopyQueue() = default;
    /// Queues a copy from page-locked host memory to the device.
    virtual void toDevice(void* target, const void* pinned, std::size_t bytes) = 0;
    /// Queues a copy from the device to page-locked host memory.
    virtual void toHost(void* pinned, const void* source, std::size_t bytes) = 0;
    /// Records mark number `chunk` after all queued copies.
    virtual void mark(std::size_t chunk) = 0;
    /// Blocks until the queue has passed the last record of mark `chunk`; does not block if there is none.
    virtual void waitFor(std::size_t chunk) = 0;
    /// Whether a copy of several chunks should continue; called between chunks.
    virtual bool goesOn() = 0;
};

/// Copies between pageable host memory and a device through a few page-locked chunks: as fast as the slower
/// of the host's memcpy and the link, without pinning the user's pages. A chunk is reused only after its copy
/// is done. Used by one thread at a time.
class StagingRing {
public:
    /// Takes `chunks` (at least 2) of `chunkBytes` from `pinned` at the first copy.
    StagingRing(CopyQueue& queue, Allocator& pinned, std::size_t chunkBytes, std::size_t chunks);
    ~StagingRing();

    /// Allocates the chunks for a copy of this size in advance. If this fails, the copy will fail too.
    void prepare(std::size_t bytes) noexcept;

    /// Returns when `source` is read completely; its last chunks may still be in transit.
    void toDevice(void* target, const void* source, std::size_t bytes);
    /// Returns when `target` is written completely, or when the queue does not continue.
    void toHost(void* target, const void* source, std::size_t bytes);

private:
    std::byte* chunk(std::size_t index);

    CopyQueue& m_queue;
    Allocator& m_pinned;
    const std::size_t m_chunkBytes;
    std::vector<BufferPtr> m_chunks;
    std::size_t m_next = 0;
};

} // namespace twb
