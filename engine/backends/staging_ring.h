#pragma once

#include "core/buffer.h"

#include <cstddef>
#include <vector>

namespace twb {

/// A device's copies as staging needs them: queued in order, done some time later.
class CopyQueue {
public:
    virtual ~CopyQueue() = default;
    /// Queues a copy from page-locked host memory to the device.
    virtual void toDevice(void* target, const void* pinned, std::size_t bytes) = 0;
    /// Queues a copy from the device to page-locked host memory.
    virtual void toHost(void* pinned, const void* source, std::size_t bytes) = 0;
    /// Sets mark number `chunk` behind everything queued so far.
    virtual void mark(std::size_t chunk) = 0;
    /// Blocks until the queue has passed mark `chunk` as it was last set; at once when it never was.
    virtual void waitFor(std::size_t chunk) = 0;
    /// Whether a copy of several chunks shall go on; asked between them.
    virtual bool goesOn() = 0;
};

/// Copies between pageable host memory and a device through a few page-locked chunks: as fast as the slower
/// of the host's memcpy and the link, without locking the user's pages. A chunk is filled anew only after the
/// copy that reads it is done. Used by one thread at a time.
class StagingRing {
public:
    /// Takes `chunks` (at least 2) of `chunkBytes` from `pinned`, at the first copy.
    StagingRing(CopyQueue& queue, Allocator& pinned, std::size_t chunkBytes, std::size_t chunks);
    ~StagingRing();

    /// Takes the chunks that a copy of so many bytes will use: what it would do itself, later. When that
    /// fails, so will the copy.
    void prepare(std::size_t bytes) noexcept;

    /// Returns when `source` is read whole; its last chunks may still be on their way.
    void toDevice(void* target, const void* source, std::size_t bytes);
    /// Returns when `target` is written whole, or when the queue does not go on.
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
