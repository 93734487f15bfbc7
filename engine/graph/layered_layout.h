#pragma once

#include "graph/graph.h"

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

/// Something to place, in canvas units.
struct LayoutBox {
    double width = 0;
    double height = 0;
    double anchor = 0; ///< from its top: the height at which its wires come and go
    int group = -1;    ///< the innermost group that it belongs to
};

/// The box `from` stands before the box `to`.
struct LayoutLink {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// Up to this many boxes are laid out by Graphviz; more stand in plain columns.
inline constexpr std::size_t kMostLaidOut = 3000;

/// Places boxes in columns from left to right, each after what it reads, with few crossings; groups
/// (`parents` has the one around each, -1 for none) keep apart from what is not in them. What would be a long
/// thin strip is broken into rows, as a text is. By Graphviz' dot: Gansner et al., A Technique for Drawing
/// Directed Graphs, 1993. Returns the top left of each box, the least of both coordinates being 0, on the
/// grid of 8 units. Links that form cycles are fine. May be called from any thread; one call waits for
/// another.
std::vector<Position> layeredLayout(std::span<const LayoutBox> boxes, std::span<const LayoutLink> links,
                                    std::span<const int> parents = {});

} // namespace twb
