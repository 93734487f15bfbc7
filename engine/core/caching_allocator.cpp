#include "core/caching_allocator.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unistd.h>

namespace twb {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 20;

std::size_t sizeClass(std::size_t bytes) {
    if (bytes <= kAlignment) return kAlignment;
    if (bytes <= kSmall) return std::bit_ceil(bytes);
    return (bytes + kSmall - 1) / kSmall * kSmall;
}

/// Freed blocks beyond this are given back at once, so that one large run does not hold the machine.
std::size_t cacheLimit(std::size_t budget) { return std::min(budget / 4, std::size_t{1} << 30); }

} // namespace

std::size_t systemMemoryBytes() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

class CachingAllocator::Pool : public std::enable_shared_from_this<Pool> {
public:
    Pool(Device device, MemoryKind kind, std::size_t budget)
        : m_device(device), m_kind(kind), m_budget(budget) {}
    ~Pool() { trim(); }

    BufferPtr allocate(std::size_t bytes, MemoryKind kind);
    void release(void* block, std::size_t size) noexcept;
    void trim() noexcept;
    MemoryStats stats() const {
        const std::scoped_lock lock(m_mutex);
        return {m_used, m_peak, m_cached, m_budget};
    }

private:
    class Block;
    void trimLocked() noexcept;

    const Device m_device;
    const MemoryKind m_kind;
    const std::size_t m_budget;
    mutable std::mutex m_mutex;
    std::multimap<std::size_t, void*> m_free;
    std::size_t m_used = 0;
    std::size_t m_peak = 0;
    std::size_t m_cached = 0;
};

class CachingAllocator::Pool::Block final : public Buffer {
public:
    Block(std::shared_ptr<Pool> pool, void* data, std::size_t size, std::size_t blockSize, Device device,
          MemoryKind kind)
        : Buffer(data, size, device, kind), m_pool(std::move(pool)), m_blockSize(blockSize) {}
    ~Block() override { m_pool->release(data(), m_blockSize); }

private:
    std::shared_ptr<Pool> m_pool;
    std::size_t m_blockSize;
};

BufferPtr CachingAllocator::Pool::allocate(std::size_t bytes, MemoryKind kind) {
    const auto outOfMemory = [&](std::size_t used) {
        return Error(ErrorCode::outOfMemory,
                     fmt::format("{} is out of memory: {} bytes were asked for, {} of {} bytes are free",
                                 m_device.toString(), bytes, m_budget - std::min(used, m_budget), m_budget));
    };
    const std::scoped_lock lock(m_mutex);
    if (bytes > m_budget || sizeClass(bytes) > m_budget - std::min(m_used, m_budget))
        throw outOfMemory(m_used);
    std::size_t size = sizeClass(bytes);
    void* data = nullptr;
    auto cached = m_free.lower_bound(size);
    if (cached != m_free.end() &&
        (cached->first == size || (size > kSmall && cached->first - size < size / 8))) {
        size = cached->first;
        data = cached->second;
        m_free.erase(cached);
        m_cached -= size;
    } else {
        if (m_used + m_cached + size > m_budget) trimLocked();
        data = std::aligned_alloc(kAlignment, size);
        if (!data) {
            trimLocked();
            data = std::aligned_alloc(kAlignment, size);
        }
        if (!data) throw outOfMemory(m_used);
    }
    m_used += size;
    m_peak = std::max(m_peak, m_used);
    // A request for pinned host memory is honoured in name only where no driver can lock pages.
    const MemoryKind shown = m_kind == MemoryKind::device ? MemoryKind::device : kind;
    return std::make_shared<Block>(shared_from_this(), data, bytes, size, m_device, shown);
}

void CachingAllocator::Pool::release(void* block, std::size_t size) noexcept {
    const std::scoped_lock lock(m_mutex);
    m_used -= size;
    if (m_cached + size > cacheLimit(m_budget)) {
        std::free(block);
        return;
    }
    try {
        m_free.emplace(size, block);
        m_cached += size;
    } catch (const std::bad_alloc&) {
        std::free(block);
    }
}

void CachingAllocator::Pool::trim() noexcept {
    const std::scoped_lock lock(m_mutex);
    trimLocked();
}

void CachingAllocator::Pool::trimLocked() noexcept {
    for (const auto& [size, block] : m_free) std::free(block);
    m_free.clear();
    m_cached = 0;
}

CachingAllocator::CachingAllocator(Device device, MemoryKind kind, std::size_t budget)
    : m_pool(std::make_shared<Pool>(device, kind, budget)) {}
CachingAllocator::~CachingAllocator() = default;

BufferPtr CachingAllocator::allocate(std::size_t bytes, MemoryKind kind) {
    return m_pool->allocate(bytes, kind);
}
MemoryStats CachingAllocator::stats() const { return m_pool->stats(); }
void CachingAllocator::trim() { m_pool->trim(); }

} // namespace twb
