#include "widgets/canvas/card_rows.h"

#include "graph/folding.h"

#include <algorithm>
#include <utility>

namespace twb {

std::span<const std::uint32_t> CardRows::on(std::uint32_t card) const noexcept {
    const auto rows = m_rows.find(card);
    if (rows == m_rows.end()) return {};
    return rows->second;
}

void CardRows::read(const Graph& graph, std::span<const NodeId> nodes, NodeShapes& shapes) {
    std::vector<std::uint32_t> cards; ///< cards whose rows may change
    for (const NodeId id : nodes) {
        const std::uint32_t slot = shapes.slotOf(id);
        const Node* node = graph.find(id);
        if (slot == kNoSlot || !node) continue;
        const auto into = foldedInto(graph, *node);
        const std::uint32_t card = into ? shapes.slotOf(into->node) : kNoSlot;
        std::uint32_t& own = shapes[slot].card;
        cards.push_back(slot);
        for (const std::uint32_t at : {own, card})
            if (at != kNoSlot) cards.push_back(at);
        if (std::exchange(own, card) != card) shapes.measure(slot);
    }
    std::sort(cards.begin(), cards.end());
    cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
    for (const std::uint32_t card : cards) {
        const auto& inputs = graph.inputs(shapes[card].id);
        std::uint64_t folded = 0;
        std::vector<std::uint32_t> rows;
        const std::size_t ports = std::min<std::size_t>(inputs.size(), kMostFoldedPorts);
        for (std::size_t port = 0; port < ports; ++port) {
            const std::uint32_t row = inputs[port] ? shapes.slotOf(inputs[port]->node) : kNoSlot;
            if (row == kNoSlot || shapes[row].card != card) continue;
            folded |= std::uint64_t{1} << port;
            shapes[row].row = static_cast<std::int32_t>(rows.size());
            rows.push_back(row);
        }
        if (std::exchange(shapes[card].folded, folded) != folded) shapes.measure(card);
        if (rows.empty())
            m_rows.erase(card);
        else
            m_rows[card] = std::move(rows);
    }
}

void CardRows::place(std::uint32_t card, NodeShapes& shapes) const {
    const bool isShown = shapes[card].placed && shapes[card].kind == NodeShape::Kind::card;
    for (const std::uint32_t row : on(card)) {
        NodeShape& shape = shapes[row];
        if (!shapes.isRow(row)) continue;
        shapes.lift(row);
        QRectF rect;
        if (shape.kind == NodeShape::Kind::hidden) rect = shapes[card].rect;
        if (shape.kind == NodeShape::Kind::row && isShown) rect = rowRect(shapes[card], shape.row);
        if (rect.size() != shape.rect.size()) shapes.reworded.add(row); // the room for its text changed
        shape.rect = rect;
        if (isShown || shape.kind == NodeShape::Kind::hidden) shapes.put(row);
    }
}

} // namespace twb
