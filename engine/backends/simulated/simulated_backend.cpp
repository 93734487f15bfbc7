#include "backends/simulated/simulated_backend.h"

#include "backends/cpu/host_stream.h"
#include "core/caching_allocator.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// The profile's roofline and link instead of what the host took.
class ModelledDurations final : public DurationModel {
public:
    explicit ModelledDurations(const DeviceProfile& profile) : m_profile(profile) {}
    std::int64_t launchNs(const Cost& cost, std::int64_t) const noexcept override {
        return std::llround(m_profile.kernelNs(cost));
    }
    std::int64_t copyNs(const Copy& copy, std::int64_t) const noexcept override {
        return std::llround(
            m_profile.copyNs(static_cast<double>(copy.bytes), copy.direction, copy.hostMemory));
    }

private:
    const DeviceProfile& m_profile;
};

class SimulatedBackend final : public Backend {
public:
    SimulatedBackend(Device device, DeviceProfile profile)
        : m_profile(std::move(profile)), m_durations(m_profile),
          m_memory(device, MemoryKind::device, m_profile.memoryBytes),
          m_pinned(Device::cpu(), MemoryKind::pinned, systemMemoryBytes()) {
        m_info.device = device;
        m_info.name = "simulated " + m_profile.name;
        m_info.detail = m_profile.link;
        m_info.simulated = true;
        m_info.memoryBytes = m_profile.memoryBytes;
    }

    const DeviceInfo& info() const override { return m_info; }
    const DeviceProfile& profile() const override { return m_profile; }
    Allocator& memory() override { return m_memory; }
    Allocator& pinnedMemory() override { return m_pinned; }
    std::unique_ptr<Stream> createStream(QueueKind) override {
        return std::make_unique<HostStream>(m_durations);
    }
    std::unique_ptr<Event> createEvent() override { return std::make_unique<HostEvent>(); }
    bool supports(const char*, HostKernel host, std::span<const DType>) const override {
        return host != nullptr;
    }
    bool canCopyTo(const Backend& other) const override {
        return other.info().simulated && m_profile.peerGBps > 0;
    }
    void collect(std::span<LaunchTiming>) override {}

private:
    DeviceProfile m_profile;
    ModelledDurations m_durations;
    CachingAllocator m_memory;
    CachingAllocator m_pinned;
    DeviceInfo m_info;
};

} // namespace

std::shared_ptr<Backend> makeSimulatedBackend(Device device, DeviceProfile profile) {
    return std::make_shared<SimulatedBackend>(device, std::move(profile));
}

} // namespace twb
