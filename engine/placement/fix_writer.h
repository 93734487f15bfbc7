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

/// Makes the changes of fixes, one after the other. What it has to know of the whole graph it finds out once,
/// so that the time goes with the number of fixes. Until finish() nobody else may change the builder.
class FixWriter {
public:
    /// `devices` says what stands behind a lane of the device `auto`; null: such a lane is a device of its
    /// own.
    explicit FixWriter(DeltaBuilder& builder, const DeviceMap* devices = nullptr);

    /// Throws Error(badGraph), and changes nothing, when what the fix names is no longer there.
    void apply(const Fix& fix);
    /// Gives the new nodes their places: each between the nodes at its ends. Where there is no room, the
    /// cards behind it move to the right.
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
    std::map<Device, LaneId> m_lanes; ///< those that were asked for
    TensorCopies m_copies;
    std::optional<FreePlaces> m_places;
    std::optional<UniqueNames> m_names;
    std::vector<NodeId> m_added;
};

} // namespace twb
