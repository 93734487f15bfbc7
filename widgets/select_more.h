#pragma once

#include "graph/reach.h"
#include "widgets/document.h"

namespace twb {

/// The selection and all nodes that are connected to it.
Selection withReach(const Graph& graph, const Selection& selection, Reach way);
/// All nodes with the same ops as the selection.
Selection withSameOp(const Graph& graph, const Selection& selection);
/// All nodes on the lanes of the selection.
Selection withLanes(const Graph& graph, const Selection& selection);

} // namespace twb
