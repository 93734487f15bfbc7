#include "backends/device_map.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/world.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {

DeviceMap::DeviceMap() : m_world(aloneWorld()) { set(Device::cpu(), cpuBackend(), true); }

void DeviceMap::set(Device device, std::shared_ptr<Backend> backend, bool requested, std::string remark) {
    m_entries[device] = {std::move(backend), requested, std::move(remark)};
}

void DeviceMap::dropOtherRanks() {
    std::erase_if(m_entries, [](const auto& entry) { return entry.first.rank != 0; });
}

Device DeviceMap::resolve(Device device) const {
    if (!device.isAuto()) return device;
    const auto gpu = m_entries.find(Device::cuda(0));
    return gpu != m_entries.end() && gpu->second.requested ? Device::cuda(0) : Device::cpu();
}

Backend* DeviceMap::find(Device device) const {
    const auto entry = m_entries.find(resolve(device));
    return entry == m_entries.end() ? nullptr : entry->second.backend.get();
}

Backend& DeviceMap::at(Device device) const {
    if (Backend* backend = find(device)) return *backend;
    throw Error(ErrorCode::missingDevice,
                fmt::format("{0} has no hardware in this run; choose its hardware in the toolbar, or "
                            "pass --device-map {0}=simulated:h200",
                            device.toString()));
}

bool DeviceMap::isSimulated(Device device) const {
    const Backend* backend = find(device);
    return backend && backend->info().simulated;
}

std::string DeviceMap::remark(Device device) const {
    const auto entry = m_entries.find(resolve(device));
    if (entry == m_entries.end()) return {};
    if (entry->second.remark.empty()) {
        const std::string own = entry->second.backend->remark();
        return own.empty() ? own : fmt::format("{} {}", entry->first.toString(), own);
    }
    return fmt::format("{} uses a {}: {}", entry->first.toString(), entry->second.backend->info().name,
                       entry->second.remark);
}

bool DeviceMap::hasSimulated() const {
    return std::any_of(m_entries.begin(), m_entries.end(),
                       [](const auto& entry) { return entry.second.backend->info().simulated; });
}

CopyRoute DeviceMap::route(Device from, Device to) const {
    if (!from.sharesRankWith(to)) {
        const auto isRealGpu = [this](Device device) { return device.isCuda() && !isSimulated(device); };
        if (isRealGpu(to)) return {to, CopyDirection::hostToDevice};
        return {from, isRealGpu(from) ? CopyDirection::deviceToHost : CopyDirection::peer};
    }
    const bool fromHost = from.isCpu() || (isSimulated(from) && !to.isCpu() && !isSimulated(to));
    if (fromHost) return {to, CopyDirection::hostToDevice};
    const bool toHost = to.isCpu() || (isSimulated(to) && !isSimulated(from));
    return {from, toHost ? CopyDirection::deviceToHost : CopyDirection::peer};
}

double DeviceMap::copyNs(Device from, Device to, double bytes, MemoryKind hostMemory) const {
    if (!from.sharesRankWith(to))
        return link().timeNs(CollectiveKind::send, static_cast<std::uint64_t>(bytes), 2);
    const auto [by, direction] = route(from, to);
    return at(by).profile().copyNs(bytes, direction, hostMemory);
}

const LinkProfile& DeviceMap::link() const noexcept {
    const LinkProfile* simulated = m_world->link();
    return simulated ? *simulated : defaultLink();
}

Allocator& DeviceMap::memoryFor(Device device, MemoryKind kind) const {
    if (kind == MemoryKind::pinned)
        for (const auto& [name, entry] : m_entries)
            if (name.isCuda() && !entry.backend->info().simulated) return entry.backend->pinnedMemory();
    return at(device).memory();
}

std::vector<Device> DeviceMap::devices() const {
    std::vector<Device> out;
    for (const auto& [device, entry] : m_entries) out.push_back(device);
    return out;
}

} // namespace twb
