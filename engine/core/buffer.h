#pragma once

#include "core/device.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace twb {

enum class MemoryKind : std::uint8_t {
    pageable, ///< ordinary host memory
    pinned,   ///< page-locked host memory, which a GPU copies at full speed and asynchronously
    device,   ///< memory of an accelerator
};

/// Every allocation starts on this boundary, in bytes.
inline constexpr std::size_t kAlignment = 64;

/// One allocation of one device. Gives itself back to its allocator when the last owner lets go.
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

/// Bytes of one device, as its allocator counts them.
struct MemoryStats {
    std::size_t used = 0;   ///< handed out
    std::size_t peak = 0;   ///< the most handed out since beginPeak(), or ever
    std::size_t cached = 0; ///< kept for reuse
    std::size_t total = 0;  ///< what the device has
};

/// Gives out buffers. Thread-safe. A freed buffer is kept for the next request of its size.
class Allocator {
public:
    virtual ~Allocator() = default;
    /// At least `bytes` bytes aligned to kAlignment, contents undefined. Throws Error(outOfMemory) with
    /// the bytes asked and the bytes free, after the cache was emptied and the request tried again.
    virtual BufferPtr allocate(std::size_t bytes, MemoryKind kind) = 0;
    virtual MemoryStats stats() const = 0;
    /// From now on stats().peak is the most that was handed out since now.
    virtual void beginPeak() = 0;
    /// Gives cached memory back to the system.
    virtual void trim() = 0;
};

/// The process's own host memory (pageable). `pinned` requests are served as pageable here: page-locking
/// is a service of the accelerator's driver.
Allocator& hostAllocator();

} // namespace twb
