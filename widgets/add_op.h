#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "widgets/canvas/scene.h"
#include "widgets/wire_edits.h"

#include <QString>

#include <vector>

namespace twb {

/// A palette entry and its destination: an op, a composite ("Linear") or a user's module, on a lane, in a
/// frame or in none.
struct NewOp {
    QString op;
    LaneId lane = LaneId::none;
    Position position;
    FrameId frame = FrameId::none;
};

/// A wire with one loose end; a port holds the other.
struct LooseWire {
    PortSide heldBy = PortSide::output;
    PortRef port;
};

/// The dtypes that a loose wire has, or that it may accept.
DTypeSet typesOf(const Analysis& analysis, const LooseWire& wire);
/// Whether an op or composite has a port for the wire.
bool fits(const QString& op, const Analysis& analysis, const LooseWire& wire);

// Each is one Delta and puts the entry exactly where `what` says. `added` receives the new nodes. They throw
// Error(badGraph) for an unknown op or lane.

Delta addOp(const Graph& graph, const NewOp& what, std::vector<NodeId>* added = nullptr);
/// Connects the entry to a wire by its first port that fits; without such a port, the entry stays
/// unconnected.
Delta addOpTo(const Graph& graph, const NewOp& what, const Analysis& analysis, const LooseWire& wire,
              std::vector<NodeId>* added = nullptr);

/// Inserts the entry into a wire.
Delta addOpInto(const Graph& graph, const NewOp& what, const Splice& splice,
                std::vector<NodeId>* added = nullptr);

} // namespace twb
