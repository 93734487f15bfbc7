#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/cuda_error.h"
#include "backends/cuda/cuda_profile.h"
#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/kernels/chain_source.h"
#include "backends/cuda/kernels/kernel_table.h"
#include "backends/cuda/kernels/product_end.h"
#include "backends/cuda/pinned_memory.h"
#include "backends/cuda/rank_calls.h"
#include "backends/rank_device.h"
#include "core/error.h"
#include "core/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace twb::cuda {
namespace {

/// The lowest compute capability of the built kernels, major × 10 + minor.
constexpr int kLeastCapability = 75;

DeviceInfo describe(const Gpu& gpu, const cudaDeviceProp& properties) {
    DeviceInfo info;
    info.device = gpu.device();
    info.name = properties.name;
    info.detail = fmt::format("compute {}.{}, {} multiprocessors", properties.major, properties.minor,
                              properties.multiProcessorCount);
    info.memoryBytes = properties.totalGlobalMem;
    return info;
}

/// One GPU. Its context is created with the first stream or allocation.
class CudaBackend final : public Backend, public RankDevice {
public:
    CudaBackend(int index, const cudaDeviceProp& properties)
        : m_profile(estimatedProfile(index, properties)) {
        m_gpu.gpu = std::make_shared<Gpu>(index);
        m_gpu.memory = std::make_shared<DeviceMemory>(m_gpu.gpu, properties.totalGlobalMem);
        m_gpu.pinned = std::make_shared<PinnedMemory>(m_gpu.gpu, systemMemoryBytes() / 2);
        m_gpu.blas = std::make_shared<BlasHandles>();
        m_gpu.multiprocessors = properties.multiProcessorCount;
        m_gpu.chains = ChainRunner::find(properties.major * 10 + properties.minor);
        m_info = describe(*m_gpu.gpu, properties);
    }

    const DeviceInfo& info() const override { return m_info; }
    const DeviceProfile& profile() const override { return m_profile; }
    Allocator& memory() override { return *m_gpu.memory; }
    std::size_t freeBytes() override { return m_gpu.memory->freeBytes(); }
    Allocator& pinnedMemory() override { return *m_gpu.pinned; }
    std::unique_ptr<Stream> createStream(QueueKind kind) override {
        return std::make_unique<CudaStream>(m_gpu, m_profile, kind);
    }
    std::unique_ptr<Event> createEvent() override { return std::make_unique<CudaEvent>(m_gpu.gpu); }
    bool supports(const char* op, HostKernel, std::span<const DType> dtypes) const override {
        if (std::string_view(op) == "Probe") return true; // keeps its input in place
        if (RankCalls::isCall(op)) return RankCalls::supports(op, dtypes);
        const Kernel* kernel = findKernel(op);
        return kernel && (!kernel->supports || kernel->supports(dtypes));
    }
    bool fuses(const char* op, const Attributes& attributes, DType dtype) const override {
        return m_gpu.chains && isChainMember(op, attributes, dtype);
    }
    bool endsProduct(const char* op, const Attributes& attributes, DType dtype) const override {
        return isProductEnd(op, attributes, dtype);
    }
    bool canCopyTo(const Backend& other) const override {
        return std::find(m_peers.begin(), m_peers.end(), other.info().device) != m_peers.end() &&
               !other.info().simulated;
    }
    std::string remark() const override {
        const std::string problem = m_gpu.chains ? m_gpu.chains->problem() : std::string();
        return problem.empty() ? problem : "runs pointwise ops one by one: " + problem;
    }
    void collect(std::span<LaunchTiming>) override { Timeline::resolveAll(); }

    std::string whyNoCalls() const override {
        std::string problem;
        (void)nccl::open(problem);
        return problem;
    }
    void join(World& world) override {
        std::string problem;
        auto library = nccl::open(problem);
        if (!library) throw Error(ErrorCode::failed, problem);
        m_gpu.calls = std::make_shared<RankCalls>(std::move(library), m_gpu.gpu, *m_gpu.memory, world);
    }
    bool hasJoined() const noexcept override { return m_gpu.calls != nullptr; }
    void leave() noexcept override { m_gpu.calls.reset(); }

    /// Gives the peer GPUs access to this GPU's memory.
    void openTo(const CudaBackend& other) {
        int can = 0;
        if (cudaDeviceCanAccessPeer(&can, other.m_gpu.gpu->index(), m_gpu.gpu->index()) != cudaSuccess) {
            cudaGetLastError();
            return;
        }
        if (!can) return;
        m_gpu.memory->openTo(other.m_gpu.gpu->index());
        m_peers.push_back(other.info().device);
    }

private:
    GpuResources m_gpu;
    DeviceInfo m_info;
    DeviceProfile m_profile;
    std::vector<Device> m_peers;
};

/// "13.0" of 13000.
std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// The reason why there are no GPUs, for users; empty if there are some.
std::string driverProblem(int& count) {
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) return {};
    cudaGetLastError();
    int driver = 0;
    int runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    cudaRuntimeGetVersion(&runtime);
    cudaGetLastError();
    if (driver == 0)
        return "no NVIDIA driver is running; check that it is installed and that its kernel module is loaded";
    if (status == cudaErrorInsufficientDriver)
        return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, but this build needs {}; "
                           "install a newer driver",
                           versionText(driver), versionText(runtime));
    if (status == cudaSuccess || status == cudaErrorNoDevice)
        return "the NVIDIA driver finds no GPU in this machine";
    return fmt::format("the NVIDIA driver cannot be used: CUDA reports: {}", sentenceOf(status));
}

} // namespace

std::vector<std::shared_ptr<Backend>> findGpus(std::string& problem) {
    int count = 0;
    problem = driverProblem(count);
    if (!problem.empty()) return {};
    std::vector<std::shared_ptr<CudaBackend>> found;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, i), "querying the GPUs");
        int hasPools = 0;
        check(cudaDeviceGetAttribute(&hasPools, cudaDevAttrMemoryPoolsSupported, i), "querying the GPUs");
        // Skipping a GPU would give the GPUs after it other indices than the driver's.
        if (properties.major * 10 + properties.minor < kLeastCapability || !hasPools) {
            problem = fmt::format("GPU {} ({}) is not supported: this build needs compute capability {} and "
                                  "memory pools, but the GPU has {}.{}{}; hide it with CUDA_VISIBLE_DEVICES",
                                  i, properties.name, kLeastCapability / 10.0, properties.major,
                                  properties.minor, hasPools ? "" : " and no memory pools");
            break;
        }
        found.push_back(std::make_shared<CudaBackend>(i, properties));
    }
    for (const auto& a : found)
        for (const auto& b : found)
            if (a != b) a->openTo(*b);
    if (!found.empty()) problem.clear();
    return {found.begin(), found.end()};
}

} // namespace twb::cuda
