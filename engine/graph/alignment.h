#pragma once

#include "graph/delta.h"

#include <cstdint>
#include <vector>

namespace twb {

/// A card to align, with its size on the canvas.
struct AlignedCard {
    NodeId node = NodeId::none;
    double width = 0;
    double height = 0;
};

enum class Alignment : std::uint8_t {
    left,
    right,
    centre, ///< on a vertical line
    top,
    middle ///< on a horizontal line
};
/// Aligns cards with the outermost one, or with the mean of all. Nodes stay on their lanes: vertical
/// positions are aligned lane by lane. The Delta is empty when nothing moves.
Delta align(const Graph& graph, const std::vector<AlignedCard>& cards, Alignment how);

enum class Direction : std::uint8_t { horizontal, vertical };
/// Makes the gaps between cards equal. The first and the last card stay. Vertically, each lane is distributed
/// by itself.
Delta distribute(const Graph& graph, const std::vector<AlignedCard>& cards, Direction direction);

} // namespace twb
