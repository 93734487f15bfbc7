#pragma once

#include "core/device.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace twb {

enum class MemoryKind : std::uint8_t {
    pageable, ///< ordinary host memory
    pinned,   ///< page-locked host memory: a GPU copies it at full speed and asynchronously
    device,   ///< the memory of an accelerator
};

/// The alignment of every allocation, in bytes.
inline constexpr std::size_t kAlignment = 64;

/// One allocation on one device. It returns to its allocator when its last owner releases it.
class Buffer {
public:
    virtual ~Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void* data() const noexcept { return m_data; }
    std::size_t size() const noexcept { return m_size; }
    Device device() const noexcept { return m_device; }
    MemoryKind kind() const noexcept { return m_kind; }

protected:
    Buffer(void* data, std::size_t size, Device device, MemoryKind kind) noexcept
        : m_data(data), m_size(size), m_device(device), m_kind(kind) {}

private:
    void* m_data;
    std::size_t m_size;
    Device m_device;
    MemoryKind m_kind;
};

using BufferPtr = std::shared_ptr<Buffer>;

/// Bytes of one device, as counted by its allocator.
struct MemoryStats {
    std::size_t used = 0;   ///< allocated now
    std::size_t peak = 0;   ///< the most in use at one time of buffers handed out since beginPeak()
    std::size_t cached = 0; ///< kept for reuse
    std::size_t total = 0;  ///< capacity of the device
};

/// Allocates buffers. Thread-safe. A freed buffer is kept for the next request of its size.
class Allocator {
public:
    virtual ~Allocator() = default;
    /// Returns at least `bytes` bytes aligned to kAlignment, uninitialized. If memory is short, empties the
    /// cache and tries again; then throws Error(outOfMemory) with the requested and the free bytes.
    virtual BufferPtr allocate(std::size_t bytes, MemoryKind kind) = 0;
    virtual MemoryStats stats() const = 0;
    /// Restarts stats().peak at 0. Buffers in use now count again only after GaugedBuffer::renew().
    virtual void beginPeak() = 0;
    /// Returns cached memory to the system.
    virtual void trim() = 0;
};

/// The allocator of the process's own host memory (pageable). It serves `pinned` requests as pageable: only
/// an accelerator's driver can lock pages.
Allocator& hostAllocator();

} // namespace twb
