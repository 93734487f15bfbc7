#pragma once

#include "widgets/canvas/node_shapes.h"

#include <span>

namespace twb {

/// The folded parameters, which are rows on the cards of their consumers.
class CardRows {
public:
    /// The slots of the rows on a card, from the top.
    std::span<const std::uint32_t> on(std::uint32_t card) const noexcept;

    void forget(std::uint32_t card) { m_rows.erase(card); }
    /// Reads again whether these nodes are folded. Cards that change are measured again.
    void read(const Graph& graph, std::span<const NodeId> nodes, NodeShapes& shapes);
    /// Puts the rows on their card, or with it on the strip of a collapsed lane. They are hidden if the card
    /// is part of a module.
    void place(std::uint32_t card, NodeShapes& shapes) const;

private:
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> m_rows; ///< by the slot of the card
};

} // namespace twb
