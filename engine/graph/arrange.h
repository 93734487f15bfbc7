#pragma once

#include "core/cancel.h"
#include "graph/delta.h"
#include "graph/layered_layout.h"

#include <vector>

namespace twb {

/// How arrange() places nodes.
struct ArrangeOptions {
    Position origin;              ///< the top left corner of the result
    int mostPassed = kMostPassed; ///< see layeredLayout()
    bool keepsCorner =
        false; ///< instead of `origin`: the top left corner of the nodes on the first one's lane stays
    IsCancelled isCancelled{}; ///< asked between modules and before each layout
};

/// The Delta of a layout, and the size of its cards, in canvas units.
struct Arranged {
    Delta delta;
    double width = 0;
    double height = 0; ///< the sum over all lanes
};

/// Moves nodes to a layered layout from left to right along their edges. Nodes stay on their lanes, and
/// modules stay together. A collapsed module takes the place of its card; its nodes are arranged within, and
/// may overlap with others once it is expanded. If all nodes are in one collapsed module, its content is
/// arranged. Folded nodes do not count. Wires between the nodes lose their dots. In a large graph, each
/// expanded module on one lane is arranged by itself and then placed as a box. Throws Error(cancelled).
Arranged arrange(const Graph& graph, const std::vector<NodeId>& nodes, const ArrangeOptions& options);
/// All nodes inside a module, which stays where it is; none: in the graph, with a margin at the top left for
/// the frames of expanded modules.
Arranged arrangeAll(const Graph& graph, FrameId inside = FrameId::none, const IsCancelled& isCancelled = {});

/// Arranges a graph whose nodes are all at the same place: a file that was written by hand or by a script may
/// have no positions. Throws Error(cancelled).
void arrangeUnplaced(Graph& graph, const IsCancelled& isCancelled = {});

} // namespace twb
