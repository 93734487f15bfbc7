#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/convolution.h"
#include "backends/cpu/host_backend.h"
#include "backends/cpu/host_threads.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace twb {
namespace {

/// "AMD EPYC", from /proc/cpuinfo, without padding.
std::string processorName() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("model name")) continue;
        const auto from = line.find_first_not_of(": \t", line.find(':'));
        const auto to = line.find_last_not_of(" \t");
        if (from != std::string::npos) return withoutMarks(line.substr(from, to - from + 1));
    }
    return "processor";
}

/// A rough estimate without measurements, labelled as an estimate: 2.5 GHz, 256-bit fused multiply-add on
/// every core, and 10 GB/s of memory per core, up to 100 GB/s per socket.
DeviceProfile estimatedProfile(std::string name) {
    DeviceProfile p;
    p.id = "cpu";
    p.name = std::move(name);
    p.source = "estimate from the number of cores, not measured";
    const double cores = hostThreads();
    const double f32 = cores * 2.5 * 8 * 2 * 2; // GHz × lanes × (multiply and add) × two units
    p.peakGflops[static_cast<std::size_t>(DType::f32)] = f32;
    p.peakGflops[static_cast<std::size_t>(DType::f64)] = f32 / 2;
    p.memoryGBps = std::min(100.0, 10.0 * cores);
    p.memoryBytes = hostAllocator().stats().total;
    p.launchUs = 0.1;
    p.linkPinnedGBps = p.linkPageableGBps = p.memoryGBps / 2; // a copy reads and writes
    return p;
}

DeviceInfo describe(const DeviceProfile& profile) {
    DeviceInfo info;
    info.device = Device::cpu();
    info.name = profile.name;
    info.detail = hostThreads() == 1 ? "1 thread" : std::to_string(hostThreads()) + " threads";
    info.memoryBytes = profile.memoryBytes;
    return info;
}

class CpuBackend final : public HostBackend {
public:
    explicit CpuBackend(const DeviceProfile& profile)
        : HostBackend(describe(profile), profile, std::make_unique<MeasuredDurations>()) {}

    Allocator& memory() override { return hostAllocator(); }
    Allocator& pinnedMemory() override { return hostAllocator(); }
    bool canCopyTo(const Backend& other) const override { return !other.info().device.isCuda(); }
    bool fuses(const char*, const Attributes&, DType) const override { return true; }
    bool endsProduct(const char* op, const Attributes& attributes, DType dtype) const override {
        return dtype == DType::f32 &&
               (std::string_view(op) == "Add" || productEnding(op, attributes).has_value());
    }
};

} // namespace

std::string withoutMarks(std::string name) {
    for (const std::string_view mark : {"(R)", "(TM)", "(r)", "(tm)"})
        for (auto at = name.find(mark); at != std::string::npos; at = name.find(mark))
            name.erase(at, mark.size());
    return name;
}

std::shared_ptr<Backend> cpuBackend() {
    static const auto backend = std::make_shared<CpuBackend>(estimatedProfile(processorName()));
    return backend;
}

} // namespace twb
