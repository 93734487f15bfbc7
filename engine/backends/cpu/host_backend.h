#pragma once

#include "backends/cpu/host_stream.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace twb {

/// The common part of the cpu and the simulated devices: host kernels on host streams.
class HostBackend : public Backend {
public:
    const DeviceInfo& info() const override { return m_info; }
    const DeviceProfile& profile() const override { return m_profile; }
    std::unique_ptr<Stream> createStream(QueueKind) override {
        return std::make_unique<HostStream>(*m_durations, m_info.simulated);
    }
    std::unique_ptr<Event> createEvent() override { return std::make_unique<HostEvent>(); }
    bool supports(const char*, HostKernel host, std::span<const DType>) const override {
        return host != nullptr;
    }
    std::size_t freeBytes() override {
        const MemoryStats stats = memory().stats();
        return stats.total - std::min(stats.used, stats.total);
    }
    void collect(std::span<LaunchTiming>) override {} // the stream has written them

protected:
    HostBackend(DeviceInfo info, DeviceProfile profile, std::unique_ptr<const DurationModel> durations)
        : m_info(std::move(info)), m_profile(std::move(profile)), m_durations(std::move(durations)) {}

private:
    DeviceInfo m_info;
    DeviceProfile m_profile;
    std::unique_ptr<const DurationModel> m_durations;
};

} // namespace twb
