#include "support/cuda_host_backend.h"

#include "backends/cpu/host_backend.h"
#include "core/caching_allocator.h"
#include "support/host_queue.h"

#include <array>
#include <map>
#include <string>
#include <utility>

namespace twb::test {
namespace {

constexpr std::size_t kMostKernels = 512;

template <std::size_t I> const std::string& nameOf() {
    static const std::string name = I < cuda::kernelNames().size() ? std::string(cuda::kernelNames()[I]) : "";
    return name;
}

/// A host kernel does not know which op it is launched for, so each op has its own.
template <std::size_t I> void runKernel(const KernelContext& context) {
    runCudaKernel(nameOf<I>().c_str(), context);
}

template <std::size_t... I>
constexpr std::array<HostKernel, sizeof...(I)> kernelsOf(std::index_sequence<I...>) {
    return {runKernel<I>...};
}

/// The host kernel that runs the op's GPU kernel; null if there is none.
HostKernel hostKernelOf(const std::string& op) {
    static constexpr auto kernels = kernelsOf(std::make_index_sequence<kMostKernels>());
    static const std::map<std::string, HostKernel> byOp = [] {
        std::map<std::string, HostKernel> out;
        for (std::string_view name : cuda::kernelNames()) out.emplace(name, kernels.at(out.size()));
        return out;
    }();
    const auto found = byOp.find(op);
    return found == byOp.end() ? nullptr : found->second;
}

/// A host stream that launches the GPU's kernels.
class CudaHostStream final : public Stream {
public:
    explicit CudaHostStream(const DurationModel& durations) : m_host(durations) {}
    void launch(const Launch& launch) override {
        Launch& mine = m_launches[&launch];
        mine = launch;
        if (const HostKernel kernel = hostKernelOf(launch.op)) mine.kernel = kernel;
        m_host.launch(mine);
        m_host.synchronize(); // the previous use must be done before the launch is submitted again
    }
    void copy(const Copy& copy) override { m_host.copy(copy); }
    void record(Event& event) override { m_host.record(event); }
    void wait(Event& event) override { m_host.wait(event); }
    void flush() override { m_host.flush(); }
    void synchronize() override { m_host.synchronize(); }
    std::uint64_t passed() const override { return m_host.passed(); }
    std::int64_t clock() const override { return m_host.clock(); }
    void resetClock(std::int64_t virtualNow) override { m_host.resetClock(virtualNow); }

private:
    std::map<const Launch*, Launch> m_launches;
    HostStream m_host;
};

constexpr std::size_t kMemory = std::size_t{4} << 30;

DeviceInfo describe(Device device) {
    DeviceInfo info;
    info.device = device;
    info.name = "GPU kernels on the host";
    info.memoryBytes = kMemory;
    return info;
}

class CudaHostBackend final : public HostBackend {
public:
    explicit CudaHostBackend(Device device)
        : HostBackend(describe(device), {}, std::make_unique<MeasuredDurations>()),
          m_memory(device, MemoryKind::device, kMemory),
          m_pinned(Device::cpu(), MemoryKind::pinned, kMemory) {}

    Allocator& memory() override { return m_memory; }
    Allocator& pinnedMemory() override { return m_pinned; }
    std::unique_ptr<Stream> createStream(QueueKind) override {
        return std::make_unique<CudaHostStream>(m_durations);
    }
    bool supports(const char* op, HostKernel host, std::span<const DType> dtypes) const override {
        // Files are read on the host, and observing a tensor launches nothing.
        const std::string name = op;
        if (name == "File" || name == "Probe") return host != nullptr;
        return hasCudaKernel(op, dtypes);
    }
    bool canCopyTo(const Backend&) const override { return false; }

private:
    MeasuredDurations m_durations;
    CachingAllocator m_memory;
    CachingAllocator m_pinned;
};

} // namespace

std::shared_ptr<Backend> makeCudaHostBackend(Device device) {
    return std::make_shared<CudaHostBackend>(device);
}

} // namespace twb::test
