#pragma once

#include "graph/bodies.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace twb {

/// Finds the copies of a tensor that To nodes make, so that a second reader on a device needs no second copy.
/// Reads a graph that may change meanwhile: To nodes that come up are told by add(), those that go are
/// noticed. The frames must stay as they are.
class TensorCopies {
public:
    using DeviceOf = std::function<Device(NodeId)>;
    TensorCopies(const Graph& graph, DeviceOf deviceOf)
        : m_graph(graph), m_bodies(graph), m_deviceOf(std::move(deviceOf)) {}

    /// Where `reader` can read a tensor on `device`: the tensor itself, what it is a copy of, or another copy
    /// of one of these. Nothing: it has to be copied.
    std::optional<PortRef> on(PortRef tensor, Device device, NodeId reader);
    void add(PortRef tensor, NodeId to);
    /// Whether a node is an enabled To that keeps the dtype.
    bool isCopy(NodeId node) const;
    const Bodies& bodies() const noexcept { return m_bodies; }

private:
    const std::vector<NodeId>& copiesOf(PortRef tensor);

    const Graph& m_graph;
    const Bodies m_bodies;
    const DeviceOf m_deviceOf;
    std::map<PortRef, std::vector<NodeId>> m_copies; ///< of the tensors that were asked for
};

} // namespace twb
