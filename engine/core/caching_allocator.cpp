#include "core/caching_allocator.h"

#include "core/error.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/peak_gauge.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>

namespace twb {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 20;

std::size_t alignedSize(std::size_t bytes) {
    return std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
}

/// The size of the block for a tensor.
std::size_t sizeClass(std::size_t bytes) {
    if (bytes <= kAlignment) return kAlignment;
    if (bytes <= kSmall) return std::bit_ceil(bytes);
    return (bytes + kSmall - 1) / kSmall * kSmall;
}

/// Freed blocks beyond this size are returned immediately, so that a large run does not keep the machine's
/// memory.
std::size_t cacheLimit(std::size_t budget) { return std::min(budget / 4, std::size_t{1} << 30); }

/// Bytes that all pools together hold: they share one machine.
std::atomic<std::size_t> heldByAll{0};

/// The system is queried once per this many allocated bytes: a query costs as much as writing a few hundred
/// KB.
constexpr std::size_t kAskEvery = std::size_t{16} << 20;

} // namespace

class CachingAllocator::Pool : public std::enable_shared_from_this<Pool> {
public:
    Pool(Device device, MemoryKind kind, std::size_t budget)
        : m_device(device), m_kind(kind), m_budget(budget) {}
    ~Pool() { trim(); }

    BufferPtr allocate(std::size_t bytes, MemoryKind kind);
    void release(void* block, std::size_t size, const PeakGauge::Share& share) noexcept;
    void trim() noexcept;
    MemoryStats stats() const {
        const std::scoped_lock lock(m_mutex);
        return {m_gauge.used(), m_gauge.peak(), m_cached, m_budget};
    }

    void beginPeak() noexcept {
        const std::scoped_lock lock(m_mutex);
        m_gauge.begin();
    }
    void renew(PeakGauge::Share& share) noexcept {
        const std::scoped_lock lock(m_mutex);
        m_gauge.renew(share);
    }

private:
    class Block;
    void trimLocked() noexcept;
    void* take(std::size_t size);
    static void giveBack(void* block, std::size_t size) noexcept;
    [[noreturn]] void refuse(std::size_t bytes, std::size_t free, std::size_t total,
                             std::string_view where) const;

    const Device m_device;
    const MemoryKind m_kind;
    const std::size_t m_budget;
    mutable std::mutex m_mutex;
    std::multimap<std::size_t, void*> m_free;
    PeakGauge m_gauge;
    std::size_t m_cached = 0;
    std::size_t m_unasked = 0; ///< bytes allocated since the system was queried
};

class CachingAllocator::Pool::Block final : public GaugedBuffer {
public:
    /// The block may be larger than `bytes`.
    Block(std::shared_ptr<Pool> pool, void* data, std::size_t blockSize, std::size_t bytes,
          PeakGauge::Share share, Device device, MemoryKind kind)
        : GaugedBuffer(data, bytes, device, kind), m_pool(std::move(pool)), m_blockSize(blockSize),
          m_share(share) {}
    ~Block() override { m_pool->release(data(), m_blockSize, m_share); }
    void renew() noexcept override { m_pool->renew(m_share); }

private:
    std::shared_ptr<Pool> m_pool;
    const std::size_t m_blockSize;
    PeakGauge::Share m_share;
};

BufferPtr CachingAllocator::Pool::allocate(std::size_t bytes, MemoryKind kind) {
    const std::scoped_lock lock(m_mutex);
    const std::size_t free = m_budget - std::min(m_gauge.used(), m_budget);
    // What a block has beyond its tensor is for a larger tensor later; a plan does not count it, either.
    const std::size_t charged = alignedSize(bytes);
    if (bytes > m_budget || charged > free) refuse(bytes, free, m_budget, "");
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
        if (m_gauge.used() + m_cached + size > m_budget) trimLocked();
        data = take(size);
        if (!data) {
            trimLocked();
            data = take(size);
        }
        if (!data)
            refuse(bytes, freeHostMemory(heldByAll), systemMemoryBytes(),
                   m_kind == MemoryKind::device ? " in the host's memory, which holds the simulated tensors"
                                                : "");
    }
    // Without a driver that can lock pages, pinned memory is pageable memory with that label.
    const MemoryKind shown = m_kind == MemoryKind::device ? MemoryKind::device : kind;
    const PeakGauge::Share share = m_gauge.add(charged);
    try {
        return std::make_shared<Block>(shared_from_this(), data, size, bytes, share, m_device, shown);
    } catch (const std::bad_alloc&) {
        m_gauge.remove(share);
        giveBack(data, size);
        throw;
    }
}

/// New memory, or null if the machine does not have that much.
void* CachingAllocator::Pool::take(std::size_t size) {
    m_unasked += size;
    if (m_unasked >= kAskEvery) {
        if (size > freeHostMemory(heldByAll)) return nullptr;
        m_unasked = 0;
    }
    void* block = std::aligned_alloc(kAlignment, size);
    if (block) heldByAll += size;
    return block;
}

void CachingAllocator::Pool::giveBack(void* block, std::size_t size) noexcept {
    std::free(block);
    heldByAll -= size;
}

void CachingAllocator::Pool::refuse(std::size_t bytes, std::size_t free, std::size_t total,
                                    std::string_view where) const {
    const auto text = [](std::size_t amount) { return formatBytes(static_cast<double>(amount)); };
    throw Error(ErrorCode::outOfMemory,
                fmt::format("{} is out of memory: {} requested, {} of {} free{}", m_device.toString(),
                            text(bytes), text(free), text(total), where));
}

void CachingAllocator::Pool::release(void* block, std::size_t size, const PeakGauge::Share& share) noexcept {
    const std::scoped_lock lock(m_mutex);
    m_gauge.remove(share);
    if (m_cached + size > cacheLimit(m_budget)) {
        giveBack(block, size);
        return;
    }
    try {
        m_free.emplace(size, block);
        m_cached += size;
    } catch (const std::bad_alloc&) {
        giveBack(block, size);
    }
}

void CachingAllocator::Pool::trim() noexcept {
    const std::scoped_lock lock(m_mutex);
    trimLocked();
}

void CachingAllocator::Pool::trimLocked() noexcept {
    for (const auto& [size, block] : m_free) giveBack(block, size);
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
void CachingAllocator::beginPeak() { m_pool->beginPeak(); }
void CachingAllocator::trim() { m_pool->trim(); }

} // namespace twb
