#pragma once

#include "backends/backend.h"
#include "core/device.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// Who makes a copy between two devices, and which way it goes there.
struct CopyRoute {
    Device by;
    CopyDirection direction = CopyDirection::hostToDevice;
};

/// What stands behind each device name in a run. A value: copies share the backends.
class DeviceMap {
public:
    /// Empty but for cpu, which is always there and always real.
    DeviceMap();

    /// `requested`: somebody asked for exactly this (a device that is there, or a profile chosen by hand), as
    /// opposed to a simulation that stands in because there is no such device. Only the first counts for
    /// `auto`.
    /// `remark`: why there is no such device, where a simulation stands in for it.
    void set(Device device, std::shared_ptr<Backend> backend, bool requested, std::string remark = {});
    /// Nothing when no backend stands behind the (resolved) name.
    Backend* find(Device device) const;
    /// find(), or throws Error(missingDevice).
    Backend& at(Device device) const;
    /// `auto` becomes cuda:0 when one is there (real or requested), else cpu. Other names stay.
    Device resolve(Device device) const;
    bool isSimulated(Device device) const;
    /// "cuda:0 is a simulated NVIDIA H200 here: no NVIDIA driver is installed"; or what the backend itself
    /// remarks, which may be known only after a run. Empty where there is nothing to say.
    std::string remark(Device device) const;
    /// Any simulated device: times of the run are on the virtual clock.
    bool hasSimulated() const;
    /// Between two devices of which not both are cpu. A simulated device's memory is the host's, which is
    /// what a real one takes it for.
    CopyRoute route(Device from, Device to) const;
    /// The allocator of memory of a kind on a device: page-locked host memory comes from a real GPU, where
    /// there is one.
    Allocator& memoryFor(Device device, MemoryKind kind) const;
    std::vector<Device> devices() const;

private:
    struct Entry {
        std::shared_ptr<Backend> backend;
        bool requested = false;
        std::string remark;
    };
    std::map<Device, Entry> m_entries;
};

} // namespace twb
