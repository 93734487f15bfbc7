#pragma once

#include "backends/backend.h"
#include "core/device.h"

#include <map>
#include <memory>
#include <vector>

namespace twb {

/// What stands behind each device name in a run. A value: copies share the backends.
class DeviceMap {
public:
    /// Empty but for cpu, which is always there and always real.
    DeviceMap();

    /// `requested`: somebody asked for exactly this (a device that is there, or a profile chosen by hand), as
    /// opposed to a simulation that stands in because there is no such device. Only the first counts for
    /// `auto`.
    void set(Device device, std::shared_ptr<Backend> backend, bool requested);
    /// Nothing when no backend stands behind the (resolved) name.
    Backend* find(Device device) const;
    /// find(), or throws Error(missingDevice).
    Backend& at(Device device) const;
    /// `auto` becomes cuda:0 when one is there (real or requested), else cpu. Other names stay.
    Device resolve(Device device) const;
    bool isSimulated(Device device) const;
    /// Any simulated device: times of the run are on the virtual clock.
    bool hasSimulated() const;
    std::vector<Device> devices() const;

private:
    struct Entry {
        std::shared_ptr<Backend> backend;
        bool requested = false;
    };
    std::map<Device, Entry> m_entries;
};

} // namespace twb
