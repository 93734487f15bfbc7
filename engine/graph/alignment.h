#pragma once

#include "graph/delta.h"

#include <cstdint>
#include <vector>

namespace twb {

/// A card that is to be put in line, as large as it is drawn.
struct AlignedCard {
    NodeId node = NodeId::none;
    double width = 0;
    double height = 0;
};

enum class Alignment : std::uint8_t {
    left,
    right,
    centre, ///< on one vertical line
    top,
    middle ///< on one horizontal line
};
/// Puts cards in line with the outermost of them, or with the mean of all. Nodes stay on their lanes: heights
/// are brought in line lane by lane. Empty when there is nothing to move.
Delta align(const Graph& graph, const std::vector<AlignedCard>& cards, Alignment how);

enum class Direction : std::uint8_t { horizontal, vertical };
/// Makes the gaps between cards equal; the first and the last stay where they are. Vertically lane by lane.
Delta distribute(const Graph& graph, const std::vector<AlignedCard>& cards, Direction direction);

} // namespace twb
