#include "backends/cuda/pinned_memory.h"

#include "backends/cuda/cuda_error.h"
#include "core/error.h"
#include "core/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>

namespace twb::cuda {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 20;

/// Powers of two up to 1 MiB, multiples of 1 MiB beyond.
std::size_t roundedUp(std::size_t bytes) {
    return bytes <= kSmall ? std::bit_ceil(std::max<std::size_t>(bytes, 4096))
                           : (bytes + kSmall - 1) / kSmall * kSmall;
}

} // namespace

class PinnedMemory::Block final : public GaugedBuffer {
public:
    Block(std::shared_ptr<PinnedMemory> memory, void* data, std::size_t size, PeakGauge::Share share)
        : GaugedBuffer(data, size, Device::cpu(), MemoryKind::pinned), m_memory(std::move(memory)),
          m_share(share) {}
    ~Block() override { m_memory->release(data(), m_share); }
    void renew() noexcept override {
        const std::scoped_lock lock(m_memory->m_mutex);
        m_memory->m_gauge.renew(m_share);
    }

private:
    const std::shared_ptr<PinnedMemory> m_memory;
    PeakGauge::Share m_share;
};

PinnedMemory::PinnedMemory(std::shared_ptr<Gpu> gpu, std::size_t limit)
    : m_gpu(std::move(gpu)), m_limit(limit) {}

PinnedMemory::~PinnedMemory() { trim(); }

BufferPtr PinnedMemory::allocate(std::size_t bytes, MemoryKind) {
    const std::scoped_lock lock(m_mutex);
    const std::size_t free = m_limit - std::min(m_gauge.used(), m_limit);
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorCode::outOfMemory,
                    fmt::format("page-locked host memory for {} is exhausted: {} requested, {} of {} free{}",
                                m_gpu->device().toString(), formatBytes(static_cast<double>(bytes)),
                                formatBytes(static_cast<double>(free)),
                                formatBytes(static_cast<double>(m_limit)), why));
    };
    if (bytes > free || roundedUp(bytes) > free) refuse("");
    std::size_t size = roundedUp(bytes);
    void* memory = nullptr;
    if (const auto kept = m_kept.lower_bound(size); kept != m_kept.end() && kept->first - size <= size / 8) {
        size = kept->first;
        memory = kept->second;
        m_kept.erase(kept);
        m_cached -= size;
    } else {
        m_gpu->use();
        if (m_gauge.used() + m_cached + size > m_limit) trimLocked();
        m_gpu->throwIfLost();
        cudaError_t status = cudaHostAlloc(&memory, size, cudaHostAllocPortable);
        if (status != cudaSuccess) {
            if (status != cudaErrorMemoryAllocation)
                m_gpu->check(status, "allocating page-locked host memory");
            cudaGetLastError();
            trimLocked();
            status = cudaHostAlloc(&memory, size, cudaHostAllocPortable);
        }
        if (status != cudaSuccess) {
            cudaGetLastError();
            refuse(fmt::format(", and CUDA reports: {}", sentenceOf(status)));
        }
    }
    return std::make_shared<Block>(shared_from_this(), memory, bytes, m_gauge.add(size));
}

void PinnedMemory::release(void* memory, const PeakGauge::Share& share) noexcept {
    const std::scoped_lock lock(m_mutex);
    m_gauge.remove(share);
    const std::size_t size = share.bytes;
    try {
        m_kept.emplace(size, memory);
        m_cached += size;
    } catch (const std::bad_alloc&) {
        cudaFreeHost(memory);
    }
}

void PinnedMemory::beginPeak() {
    const std::scoped_lock lock(m_mutex);
    m_gauge.begin();
}

MemoryStats PinnedMemory::stats() const {
    const std::scoped_lock lock(m_mutex);
    return {m_gauge.used(), m_gauge.peak(), m_cached, m_limit};
}

void PinnedMemory::trim() {
    const std::scoped_lock lock(m_mutex);
    trimLocked();
}

void PinnedMemory::trimLocked() noexcept {
    if (m_kept.empty()) return;
    m_gpu->use();
    for (const auto& [size, memory] : m_kept) cudaFreeHost(memory);
    m_kept.clear();
    m_cached = 0;
}

} // namespace twb::cuda
