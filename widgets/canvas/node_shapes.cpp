#include "widgets/canvas/node_shapes.h"

namespace twb {

std::uint32_t NodeShapes::slotOf(NodeId id) const noexcept {
    const auto found = m_slotOf.find(id);
    return found == m_slotOf.end() ? kNoSlot : found->second;
}

const NodeShape* NodeShapes::find(NodeId id) const noexcept {
    const std::uint32_t slot = slotOf(id);
    return slot == kNoSlot ? nullptr : &m_shapes[slot];
}

const NodeShape* NodeShapes::drawn(NodeId id) const noexcept {
    const std::uint32_t slot = slotOf(id);
    return slot == kNoSlot ? nullptr : &m_shapes[drawnSlot(slot)];
}

QRectF NodeShapes::bounds() const {
    // An outermost item was removed: all must be checked again.
    if (m_bounds.isLost()) {
        m_bounds = {};
        for (const NodeShape& shape : m_shapes)
            if (shape.isCounted) m_bounds.add(shape.rect);
    }
    return m_bounds.rect();
}

void NodeShapes::reserve(std::size_t count) {
    m_shapes.reserve(count);
    m_slotOf.reserve(count);
}

std::uint32_t NodeShapes::add(const Node& node) {
    std::uint32_t slot = 0;
    if (m_free.empty()) {
        slot = static_cast<std::uint32_t>(m_shapes.size());
        m_shapes.emplace_back();
    } else {
        slot = m_free.back();
        m_free.pop_back();
    }
    NodeShape& shape = m_shapes[slot];
    shape.id = node.id;
    shape.lane = node.lane;
    shape.frame = node.frame;
    shape.at = node.position;
    m_slotOf[node.id] = slot;
    return slot;
}

void NodeShapes::remove(std::uint32_t slot) {
    lift(slot);
    m_slotOf.erase(m_shapes[slot].id);
    m_shapes[slot] = {};
    m_free.push_back(slot);
    reworded.add(slot);
}

void NodeShapes::lift(std::uint32_t slot) {
    NodeShape& shape = m_shapes[slot];
    if (std::exchange(shape.isCounted, false)) m_bounds.remove(shape.rect);
    if (shape.placed) m_grid.remove(slot, shape.rect);
    if (shape.placed && shape.kind != NodeShape::Kind::row) m_disturbed.push_back(shape.rect);
    shape.placed = false;
}

void NodeShapes::put(std::uint32_t slot) {
    NodeShape& shape = m_shapes[slot];
    shape.isCounted = !shape.rect.isNull();
    if (shape.isCounted) m_bounds.add(shape.rect);
    shape.placed = shape.kind != NodeShape::Kind::hidden;
    if (!shape.placed) return;
    m_grid.insert(slot, shape.rect);
    if (shape.kind == NodeShape::Kind::row) return;
    if (!m_disturbed.empty() && m_disturbed.back() == shape.rect)
        m_disturbed.pop_back();
    else
        m_disturbed.push_back(shape.rect);
}

void NodeShapes::measure(std::uint32_t slot) {
    m_shapes[slot].signature = 0;
    asked.add(slot);
}

} // namespace twb
