#include "backends/device_map.h"

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {

DeviceMap::DeviceMap() { set(Device::cpu(), cpuBackend(), true); }

void DeviceMap::set(Device device, std::shared_ptr<Backend> backend, bool requested) {
    m_entries[device] = {std::move(backend), requested};
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
                fmt::format("nothing stands behind {0} in this run; map it, for example with --device-map "
                            "{0}=simulated:h200",
                            device.toString()));
}

bool DeviceMap::isSimulated(Device device) const {
    const Backend* backend = find(device);
    return backend && backend->info().simulated;
}

bool DeviceMap::hasSimulated() const {
    return std::any_of(m_entries.begin(), m_entries.end(),
                       [](const auto& entry) { return entry.second.backend->info().simulated; });
}

std::vector<Device> DeviceMap::devices() const {
    std::vector<Device> out;
    for (const auto& [device, entry] : m_entries) out.push_back(device);
    return out;
}

} // namespace twb
