#pragma once

#include "graph/bodies.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace twb {

/// Finds the copies of a tensor made by To nodes, so that a second consumer on a device needs no second copy.
/// The graph may change meanwhile: new To nodes are reported by add(), and removed ones are noticed. Frames
/// must not change.
class TensorCopies {
public:
    using DeviceOf = std::function<Device(NodeId)>;
    TensorCopies(const Graph& graph, DeviceOf deviceOf)
        : m_graph(graph), m_bodies(graph), m_deviceOf(std::move(deviceOf)) {}

    /// The output on `device` that `reader` can read: the tensor itself, the original of which it is a copy,
    /// or another copy. Nothing if it must be copied.
    std::optional<PortRef> on(PortRef tensor, Device device, NodeId reader);
    /// From which output `reader` gets a tensor on `device` that is not there yet: from one on another device
    /// of the same rank, if there is one, so that the tensor does not go to that rank twice. Else the tensor.
    PortRef nearest(PortRef tensor, Device device, NodeId reader);
    void add(PortRef tensor, NodeId to);
    /// Whether a node is an enabled To that keeps the dtype.
    bool isCopy(NodeId node) const;
    const Bodies& bodies() const noexcept { return m_bodies; }

private:
    std::optional<PortRef> find(PortRef tensor, NodeId reader, const std::function<bool(Device)>& isWanted);
    const std::vector<NodeId>& copiesOf(PortRef tensor);

    const Graph& m_graph;
    const Bodies m_bodies;
    const DeviceOf m_deviceOf;
    std::map<PortRef, std::vector<NodeId>> m_copies; ///< of the tensors requested so far
};

} // namespace twb
