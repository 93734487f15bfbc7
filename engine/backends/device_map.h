#pragma once

#include "backends/backend.h"
#include "core/device.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace twb {

struct LinkProfile;

/// The backend that makes a copy between two devices, and the copy's direction there.
struct CopyRoute {
    Device by;
    CopyDirection direction = CopyDirection::hostToDevice;
};

/// The hardware of each device name in a run, and the ranks that take part in it. Devices of ranks other than
/// 0 are those of other processes; here, they are simulated. A value: copies share the
/// backends and the world.
class DeviceMap {
public:
    /// Contains only cpu, which is always real.
    DeviceMap();

    /// `requested`: the user chose this device or profile, or the device exists; otherwise it is a simulation
    /// of a missing device. `auto` resolves only to a requested device. `remark`: the reason why the real
    /// device is missing.
    void set(Device device, std::shared_ptr<Backend> backend, bool requested, std::string remark = {});
    /// Forgets the devices of other ranks, in a run in which those ranks take part themselves.
    void dropOtherRanks();
    /// Null if the (resolved) name has no backend.
    Backend* find(Device device) const;
    /// find(), or throws Error(missingDevice).
    Backend& at(Device device) const;
    /// `auto` becomes cuda:0 if there is one (real or requested), else cpu. Other names stay.
    Device resolve(Device device) const;
    bool isSimulated(Device device) const;
    /// "cuda:0 uses a simulated NVIDIA H200: NVIDIA driver not found (libcuda.so.1)", or a remark of the
    /// backend, which may be known only after a run. Empty if there is none.
    std::string remark(Device device) const;
    /// Whether any device is simulated: then times are on the virtual clock.
    bool hasSimulated() const;
    /// The devices differ. A simulated device's memory is host memory; a real device copies it as such. Of
    /// two devices of different ranks, at most one is a real GPU: it makes the copy, else the sender does.
    CopyRoute route(Device from, Device to) const;
    /// The predicted time of a copy: that of the device that makes it or, between two ranks, of their link.
    /// Throws Error(missingDevice).
    double copyNs(Device from, Device to, double bytes, MemoryKind hostMemory) const;
    /// The link between two ranks: that of a simulated world, else defaultLink().
    const LinkProfile& link() const noexcept;
    /// The allocator for a kind of memory on a device. A real GPU, if there is one, provides page-locked host
    /// memory.
    Allocator& memoryFor(Device device, MemoryKind kind) const;
    std::vector<Device> devices() const;
    /// By default a single rank.
    World& world() const noexcept { return *m_world; }
    void setWorld(std::shared_ptr<World> world) { m_world = std::move(world); }

private:
    struct Entry {
        std::shared_ptr<Backend> backend;
        bool requested = false;
        std::string remark;
    };
    std::map<Device, Entry> m_entries;
    std::shared_ptr<World> m_world;
};

} // namespace twb
