#include "backends/cuda/device_memory.h"

#include "backends/cuda/cuda_error.h"
#include "core/error.h"
#include "core/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace twb::cuda {

class DeviceMemory::Block final : public GaugedBuffer {
public:
    Block(std::shared_ptr<DeviceMemory> memory, void* data, PeakGauge::Share share)
        : GaugedBuffer(data, share.bytes, memory->m_gpu->device(), MemoryKind::device),
          m_memory(std::move(memory)), m_share(share) {}
    ~Block() override { m_memory->release(data(), m_share); }
    void renew() noexcept override {
        const std::scoped_lock lock(m_memory->m_mutex);
        m_memory->m_gauge.renew(m_share);
    }

private:
    const std::shared_ptr<DeviceMemory> m_memory;
    PeakGauge::Share m_share;
};

DeviceMemory::DeviceMemory(std::shared_ptr<Gpu> gpu, std::size_t totalBytes)
    : m_gpu(std::move(gpu)), m_total(totalBytes) {}

DeviceMemory::~DeviceMemory() {
    if (!m_stream) return;
    m_gpu->use();
    cudaStreamSynchronize(m_stream);
    if (m_pool) cudaMemPoolDestroy(m_pool);
    cudaStreamDestroy(m_stream);
}

/// Creates the pool and its stream at the first use. The lock must be held, and the GPU current.
void DeviceMemory::prepare() {
    m_gpu->throwIfLost();
    if (m_pool) return;
    if (!m_stream)
        m_gpu->check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "creating a stream");
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned; // CUDA's name for device memory here
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = m_gpu->index();
    cudaMemPool_t pool = nullptr;
    m_gpu->check(cudaMemPoolCreate(&pool, &props), "creating a device memory pool");
    try {
        configure(pool);
    } catch (...) {
        cudaMemPoolDestroy(pool);
        throw;
    }
    m_pool = pool;
    allowWaiting(false);
}

void DeviceMemory::configure(cudaMemPool_t pool) const {
    std::uint64_t keepAll = std::numeric_limits<std::uint64_t>::max();
    m_gpu->check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keepAll),
                 "setting the pool's release threshold");
    for (const int other : m_openTo) {
        cudaMemAccessDesc access{};
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = other;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        m_gpu->check(cudaMemPoolSetAccess(pool, &access, 1), "giving another GPU access to memory");
    }
}

void DeviceMemory::openTo(int other) {
    const std::scoped_lock lock(m_mutex);
    m_openTo.push_back(other);
}

/// Allocates from the pool. If it is exhausted, tries again after trimming the pool, then with memory that
/// other streams are about to free.
cudaError_t DeviceMemory::take(void** memory, std::size_t bytes, cudaStream_t stream) {
    cudaError_t status = cudaMallocFromPoolAsync(memory, bytes, m_pool, stream);
    if (status != cudaErrorMemoryAllocation) return status;
    cudaGetLastError();
    cudaStreamSynchronize(m_stream);
    if (stream != m_stream) cudaStreamSynchronize(stream);
    trimLocked();
    allowWaiting(true);
    status = cudaMallocFromPoolAsync(memory, bytes, m_pool, stream);
    if (status == cudaErrorMemoryAllocation) cudaGetLastError();
    allowWaiting(false);
    return status;
}

/// Whether memory still used by one stream may go to another, which then waits for it. Enabled only if memory
/// is short: an allocation should not wait for a kernel.
void DeviceMemory::allowWaiting(bool may) noexcept {
    int value = may ? 1 : 0;
    cudaMemPoolSetAttribute(m_pool, cudaMemPoolReuseAllowInternalDependencies, &value);
}

void DeviceMemory::refuse(std::size_t bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    throw Error(ErrorCode::outOfMemory,
                fmt::format("{} is out of memory: {} requested, {} of {} free", m_gpu->device().toString(),
                            formatBytes(static_cast<double>(bytes)), formatBytes(static_cast<double>(free)),
                            formatBytes(static_cast<double>(m_total))));
}

BufferPtr DeviceMemory::allocate(std::size_t bytes, MemoryKind) {
    m_gpu->use();
    const std::scoped_lock lock(m_mutex);
    prepare();
    void* memory = nullptr;
    cudaError_t status = bytes > m_total ? cudaErrorMemoryAllocation
                                         : take(&memory, std::max<std::size_t>(bytes, 1), m_stream);
    if (status == cudaErrorMemoryAllocation) refuse(bytes);
    m_gpu->check(status, "allocating device memory");
    // Makes the memory available to other streams. This stream has no other work, so this does not wait for
    // kernels.
    m_gpu->check(cudaStreamSynchronize(m_stream), "allocating device memory");
    return std::make_shared<Block>(shared_from_this(), memory, m_gauge.add(bytes));
}

void DeviceMemory::release(void* memory, const PeakGauge::Share& share) noexcept {
    m_gpu->use();
    const std::scoped_lock lock(m_mutex);
    cudaFreeAsync(memory, m_stream);
    m_gauge.remove(share);
}

void* DeviceMemory::allocateOn(cudaStream_t stream, std::size_t bytes) {
    const std::scoped_lock lock(m_mutex);
    prepare();
    void* memory = nullptr;
    const cudaError_t status = take(&memory, std::max<std::size_t>(bytes, 1), stream);
    if (status == cudaErrorMemoryAllocation) refuse(bytes);
    m_gpu->check(status, "allocating device memory for a kernel");
    m_scratch[memory] = m_gauge.add(bytes);
    return memory;
}

void DeviceMemory::releaseOn(cudaStream_t stream, void* memory) noexcept {
    const std::scoped_lock lock(m_mutex);
    const auto known = m_scratch.find(memory);
    if (known == m_scratch.end()) return;
    m_gauge.remove(known->second);
    m_scratch.erase(known);
    cudaFreeAsync(memory, stream);
}

void DeviceMemory::beginPeak() {
    const std::scoped_lock lock(m_mutex);
    m_gauge.begin();
}

MemoryStats DeviceMemory::stats() const {
    const std::scoped_lock lock(m_mutex);
    MemoryStats stats;
    stats.used = m_gauge.used();
    stats.peak = m_gauge.peak();
    stats.total = m_total;
    stats.cached = keptLocked();
    return stats;
}

std::size_t DeviceMemory::keptLocked() const {
    std::uint64_t reserved = 0;
    if (!m_pool ||
        cudaMemPoolGetAttribute(m_pool, cudaMemPoolAttrReservedMemCurrent, &reserved) != cudaSuccess)
        return 0;
    return reserved - std::min<std::uint64_t>(reserved, m_gauge.used());
}

void DeviceMemory::trim() {
    m_gpu->use();
    const std::scoped_lock lock(m_mutex);
    if (!m_pool) return;
    cudaStreamSynchronize(m_stream);
    trimLocked();
}

/// Returns unused memory: the pool's, and CUDA's for graphs.
void DeviceMemory::trimLocked() noexcept {
    cudaMemPoolTrimTo(m_pool, 0);
    cudaDeviceGraphMemTrim(m_gpu->index());
}

std::size_t DeviceMemory::freeBytes() {
    m_gpu->use();
    const std::scoped_lock lock(m_mutex);
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    return free + keptLocked();
}

} // namespace twb::cuda
