#include "widgets/canvas/hidden_nodes.h"

#include "widgets/canvas/lane_stack.h"
#include "widgets/canvas/node_shapes.h"

#include <utility>

namespace twb {

bool HiddenNodes::areTogether(const NodeShape& a, const NodeShape& b) const noexcept {
    if (!a.isHidden || !b.isHidden || isOutside(a.frame) != isOutside(b.frame)) return false;
    return isOutside(a.frame) || a.lane == b.lane;
}

void HiddenNodes::read(const SceneSource& source, const LaneStack& lanes, NodeShapes& nodes) {
    m_inside.clear();
    m_open = source.graph.find(source.inside) ? source.inside : FrameId::none;
    if (m_open != FrameId::none) {
        m_inside.insert(source.inside);
        // Parents may come after their children, so this repeats as often as frames can be nested.
        for (std::size_t before = 0; before != m_inside.size();) {
            before = m_inside.size();
            for (const Frame& frame : source.graph.frames())
                if (m_inside.contains(frame.parent)) m_inside.insert(frame.id);
        }
    }
    std::unordered_set<LaneId> collapsed;
    for (const LaneBand& band : lanes.bands())
        if (band.collapsed) collapsed.insert(band.id);
    const bool any = !collapsed.empty() || !m_inside.empty();
    const bool had = std::exchange(m_any, any);
    if (!any && !had) return;
    for (std::uint32_t slot = 0; slot < nodes.shapes().size(); ++slot) {
        NodeShape& shape = nodes[slot];
        if (shape.id == NodeId::none) continue;
        // A row is on its card.
        const NodeShape& at = nodes[nodes.drawnSlot(shape.card == kNoSlot ? slot : shape.card)];
        const bool isHidden = collapsed.contains(at.lane) || isOutside(at.frame);
        if (isHidden == shape.isHidden) continue;
        shape.isHidden = isHidden;
        nodes.measure(slot);
        nodes.touched.add(slot);
    }
}

} // namespace twb
