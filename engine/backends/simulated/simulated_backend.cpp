#include "backends/simulated/simulated_backend.h"

#include "backends/cpu/host_backend.h"
#include "core/caching_allocator.h"
#include "core/host_memory.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// Times from the profile's roofline and link instead of measured ones.
class ModelledDurations final : public DurationModel {
public:
    explicit ModelledDurations(DeviceProfile profile) : m_profile(std::move(profile)) {}
    std::int64_t launchNs(const Cost& cost, std::int64_t) const noexcept override {
        return std::llround(m_profile.kernelNs(cost));
    }
    std::int64_t copyNs(const Copy& copy, std::int64_t) const noexcept override {
        return std::llround(
            m_profile.copyNs(static_cast<double>(copy.bytes), copy.direction, copy.hostMemory));
    }

private:
    DeviceProfile m_profile;
};

DeviceInfo describe(Device device, const DeviceProfile& profile) {
    DeviceInfo info;
    info.device = device;
    info.name = "simulated " + profile.name;
    info.detail = profile.link;
    info.simulated = true;
    info.memoryBytes = profile.memoryBytes;
    return info;
}

class SimulatedBackend final : public HostBackend {
public:
    SimulatedBackend(Device device, const DeviceProfile& profile)
        : HostBackend(describe(device, profile), profile, std::make_unique<ModelledDurations>(profile)),
          m_memory(device, MemoryKind::device, profile.memoryBytes),
          m_pinned(Device::cpu(), MemoryKind::pinned, systemMemoryBytes()) {}

    Allocator& memory() override { return m_memory; }
    Allocator& pinnedMemory() override { return m_pinned; }
    bool canCopyTo(const Backend& other) const override {
        return other.info().simulated && profile().peerGBps > 0;
    }

private:
    CachingAllocator m_memory;
    CachingAllocator m_pinned;
};

} // namespace

std::shared_ptr<Backend> makeSimulatedBackend(Device device, DeviceProfile profile) {
    return std::make_shared<SimulatedBackend>(device, profile);
}

} // namespace twb
