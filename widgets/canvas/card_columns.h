#pragma once

#include "widgets/canvas/node_shapes.h"

#include <span>

namespace twb {

/// The cards of a lane that stand one below the other. They have one width, so that both sides align.
class CardColumns {
public:
    /// The slots of the cards whose left sides are at `x` of a lane.
    std::span<const std::uint32_t> at(LaneId lane, double x) const noexcept;

    /// Takes a card out of its column.
    void leave(std::uint32_t slot, NodeShapes& nodes);
    /// Puts the touched cards into their columns, and touches those whose width changes.
    void align(NodeShapes& nodes);

private:
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> m_columns;
    std::vector<std::uint64_t> m_old; ///< columns that may not line up any more
};

} // namespace twb
