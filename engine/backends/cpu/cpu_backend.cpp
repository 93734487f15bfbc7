#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/host_stream.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace twb {
namespace {

unsigned threads() { return std::max(1U, std::thread::hardware_concurrency()); }

/// "AMD EPYC", from /proc/cpuinfo, without its padding.
std::string processorName() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("model name")) continue;
        const auto from = line.find_first_not_of(": \t", line.find(':'));
        const auto to = line.find_last_not_of(" \t");
        if (from != std::string::npos) return line.substr(from, to - from + 1);
    }
    return "processor";
}

/// What can be said of a processor without measuring it: 2.5 GHz, 256-bit fused multiply-add on every core,
/// and 10 GB/s of memory a core up to one socket's 100. An estimate, and named as such.
DeviceProfile estimatedProfile(std::string name) {
    DeviceProfile p;
    p.id = "cpu";
    p.name = std::move(name);
    p.source = "estimate from the number of cores, not measured";
    const double cores = threads();
    const double f32 = cores * 2.5 * 8 * 2 * 2; // GHz × lanes × (multiply and add) × two units
    p.peakGflops[static_cast<std::size_t>(DType::f32)] = f32;
    p.peakGflops[static_cast<std::size_t>(DType::f64)] = f32 / 2;
    p.memoryGBps = std::min(100.0, 10.0 * cores);
    p.memoryBytes = hostAllocator().stats().total;
    p.launchUs = 0.1;
    p.linkPinnedGBps = p.linkPageableGBps = p.memoryGBps / 2; // a copy reads and writes
    return p;
}

class CpuBackend final : public Backend {
public:
    CpuBackend() : m_profile(estimatedProfile(processorName())) {
        m_info.device = Device::cpu();
        m_info.name = m_profile.name;
        m_info.detail = threads() == 1 ? "1 thread" : std::to_string(threads()) + " threads";
        m_info.memoryBytes = m_profile.memoryBytes;
    }

    const DeviceInfo& info() const override { return m_info; }
    const DeviceProfile& profile() const override { return m_profile; }
    Allocator& memory() override { return hostAllocator(); }
    Allocator& pinnedMemory() override { return hostAllocator(); }
    std::unique_ptr<Stream> createStream(QueueKind) override {
        return std::make_unique<HostStream>(m_durations);
    }
    std::unique_ptr<Event> createEvent() override { return std::make_unique<HostEvent>(); }
    bool supports(const char*, HostKernel host, std::span<const DType>) const override {
        return host != nullptr;
    }
    bool canCopyTo(const Backend& other) const override { return !other.info().device.isCuda(); }
    void collect(std::span<LaunchTiming>) override {} // written by the stream as it goes

private:
    DeviceProfile m_profile;
    DeviceInfo m_info;
    MeasuredDurations m_durations;
};

} // namespace

std::shared_ptr<Backend> cpuBackend() {
    static const auto backend = std::make_shared<CpuBackend>();
    return backend;
}

} // namespace twb
