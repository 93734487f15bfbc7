#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <unordered_set>

namespace twb {

class LaneStack;
class NodeShapes;

/// Which nodes are hidden: those on collapsed lanes, and those outside the open module.
class HiddenNodes {
public:
    /// The open module; none: the whole graph is shown.
    FrameId open() const noexcept { return m_open; }
    bool isOutside(FrameId frame) const noexcept { return !m_inside.empty() && !m_inside.contains(frame); }
    /// Whether there are any.
    bool any() const noexcept { return m_any; }
    /// Whether two shapes are hidden in one place: on one strip, or outside the open module.
    bool areTogether(const NodeShape& a, const NodeShape& b) const noexcept;

    /// Updates NodeShape::isHidden; nodes that appear or disappear are measured again.
    void read(const SceneSource& source, const LaneStack& lanes, NodeShapes& nodes);

private:
    FrameId m_open = FrameId::none;
    std::unordered_set<FrameId> m_inside; ///< the open module, and those in it; empty: none is open
    bool m_any = false;
};

} // namespace twb
