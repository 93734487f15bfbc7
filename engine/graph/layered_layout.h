#pragma once

#include "graph/graph.h"

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

/// A box to place, in canvas units.
struct LayoutBox {
    double width = 0;
    double height = 0;
    double anchor = 0; ///< distance from the top of the box to the point where its wires attach
    int group = -1;    ///< the innermost group that contains it
    int lane = 0;      ///< each lane has its own vertical axis; lower numbers are above
};

/// Box `from` is placed left of box `to`.
struct LayoutLink {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// Graphviz lays out up to this many boxes; more are placed in plain columns.
inline constexpr std::size_t kMostLaidOut = 2000;

/// Default of layeredLayout()'s `mostPassed`: the columns that all links together may pass through. Fewer
/// with more than 100 boxes.
inline constexpr int kMostPassed = 6000;

/// Places boxes in columns from left to right, each after its sources, with few crossings. A group
/// (`parents`: the group around each, -1 for none) does not overlap with boxes outside it. A long strip is
/// broken into rows, like text; on several lanes only a very long one. Boxes of one lane and column do not
/// overlap, and the boxes of a group that two lanes share are next to the border between them. Uses Graphviz'
/// dot: Gansner et al., A Technique for Drawing Directed Graphs, 1993.
///
/// Returns the top left corner of each box on the grid of 8 units; the minimum of both coordinates is 0.
/// The longest links beyond `mostPassed` columns do not count; fewer columns take less time. Links may form
/// cycles. May be called from any thread; calls wait for each other.
std::vector<Position> layeredLayout(std::span<const LayoutBox> boxes, std::span<const LayoutLink> links,
                                    std::span<const int> parents = {}, int mostPassed = kMostPassed);

} // namespace twb
