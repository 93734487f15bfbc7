#pragma once

#include "graph/reach.h"
#include "widgets/document.h"

namespace twb {

/// What is selected, and all that wires lead to from there.
Selection withReach(const Graph& graph, const Selection& selection, Reach way);
/// All nodes of the ops that are selected.
Selection withSameOp(const Graph& graph, const Selection& selection);
/// All nodes on the lanes where something is selected.
Selection withLanes(const Graph& graph, const Selection& selection);

} // namespace twb
