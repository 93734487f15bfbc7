#pragma once

#include "graph/delta.h"
#include "graph/diagnostic.h"
#include "graph/free_places.h"
#include "graph/unique_names.h"
#include "placement/tensor_copies.h"

#include <map>
#include <optional>
#include <vector>

namespace twb {

class DeviceMap;

/// Applies fixes one after the other. Facts about the whole graph are computed once, so the time depends on
/// the number of fixes. Until finish(), no other code may change the builder.
class FixWriter {
public:
    /// `devices` resolves lanes of the device `auto`; null: such a lane counts as a separate device.
    explicit FixWriter(DeltaBuilder& builder, const DeviceMap* devices = nullptr);

    /// Throws Error(badGraph), and changes nothing, if a node or edge of the fix no longer exists.
    void apply(const Fix& fix);
    /// Positions the new nodes, each between the nodes at its ends. If there is no room, the cards to the
    /// right are moved.
    void finish();

private:
    Device deviceOf(NodeId node) const;
    LaneId laneFor(Device device);
    FreePlaces& places();
    UniqueNames& names();
    void insertTo(const Fix& fix);
    void insertCast(const Fix& fix);
    void moveNode(const Fix& fix);
    void bypass(const Fix& fix);
    void insertOn(const Edge& edge, Node node);
    void readFrom(PortRef output, PortRef input);
    void removeUnread(NodeId copy);

    DeltaBuilder& m_builder;
    const DeviceMap* m_devices;
    std::map<Device, LaneId> m_lanes; ///< the requested fixes
    TensorCopies m_copies;
    std::optional<FreePlaces> m_places;
    std::optional<UniqueNames> m_names;
    std::vector<NodeId> m_added;
};

} // namespace twb
