#pragma once

#include "backends/device_map.h"
#include "graph/graph.h"

#include <string>
#include <vector>

namespace twb {

class RankDevice;

/// Whether the device makes calls over ranks itself, in streams of its own (RankDevice).
bool makesCalls(const DeviceMap& devices, Device device);
/// Whether the device could make calls over ranks itself, but has not joined those of the other ranks: its
/// tensors are copied to the host for a call.
bool callsByHost(const DeviceMap& devices, Device device);

/// The GPUs of a graph that make the calls over ranks themselves, as long as the object lives.
class JoinedDevices {
public:
    /// Lets each GPU on which the graph has a lane join those of the other ranks, if the world has other
    /// ranks or the lane has calls over ranks. A GPU that cannot join on one rank joins on none. All ranks
    /// must call it together, with the same graph, before the graph is analysed.
    JoinedDevices(const Graph& graph, const DeviceMap& devices);
    ~JoinedDevices();
    JoinedDevices(const JoinedDevices&) = delete;
    JoinedDevices& operator=(const JoinedDevices&) = delete;

    /// Why calls go through the cpu: "cuda:0 cannot use NCCL, because rank 1 has no real GPU. Its tensors are
    /// copied to the cpu for calls over ranks."
    const std::vector<std::string>& remarks() const noexcept { return m_remarks; }

private:
    void join(const Graph& graph);
    std::string tryToJoin(Device device);
    void leave() noexcept;

    const DeviceMap m_devices; ///< keeps the backends and the world alive
    std::vector<RankDevice*> m_joined;
    std::vector<std::string> m_remarks;
};

} // namespace twb
