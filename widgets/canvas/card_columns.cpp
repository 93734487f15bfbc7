#include "widgets/canvas/card_columns.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace twb {
namespace {

/// Never 0.
std::uint64_t columnOf(LaneId lane, double x) {
    return (value(lane) * 0x9E3779B97F4A7C15ULL ^ std::bit_cast<std::uint64_t>(x)) | 1U;
}

} // namespace

std::span<const std::uint32_t> CardColumns::at(LaneId lane, double x) const noexcept {
    const auto column = m_columns.find(columnOf(lane, x));
    if (column == m_columns.end()) return {};
    return column->second;
}

void CardColumns::leave(std::uint32_t slot, NodeShapes& nodes) {
    const std::uint64_t key = std::exchange(nodes[slot].column, 0);
    if (key == 0) return;
    std::vector<std::uint32_t>& column = m_columns.at(key);
    column.erase(std::find(column.begin(), column.end(), slot));
    if (column.empty())
        m_columns.erase(key);
    else
        m_old.push_back(key);
}

void CardColumns::align(NodeShapes& nodes) {
    for (const std::uint32_t slot : nodes.touched.slots()) {
        NodeShape& shape = nodes[slot];
        const bool isCard = shape.id != NodeId::none && shape.kind == NodeShape::Kind::card;
        const std::uint64_t key = isCard ? columnOf(shape.lane, shape.at.x) : 0;
        if (shape.column != key) {
            leave(slot, nodes);
            if (key != 0) m_columns[key].push_back(slot);
            shape.column = key;
        }
        if (key != 0) m_old.push_back(key);
    }
    std::sort(m_old.begin(), m_old.end());
    m_old.erase(std::unique(m_old.begin(), m_old.end()), m_old.end());
    for (const std::uint64_t key : std::exchange(m_old, {})) {
        const auto column = m_columns.find(key);
        if (column == m_columns.end()) continue;
        double width = 0;
        for (const std::uint32_t slot : column->second) width = std::max(width, nodes[slot].ownWidth);
        for (const std::uint32_t slot : column->second) {
            if (nodes[slot].rect.width() == width) continue;
            nodes.lift(slot);
            nodes[slot].rect.setWidth(width);
            nodes.reworded.add(slot);
            nodes.touched.add(slot);
        }
    }
}

} // namespace twb
