#pragma once

#include "widgets/canvas/scene.h"

#include <QLineF>
#include <QPointF>

#include <optional>
#include <set>
#include <vector>

namespace twb {

/// The alignment of moved items with their neighbours.
struct AlignmentGuides {
    std::optional<double> x; ///< distance to the aligned position, in canvas units
    std::optional<double> y;
};

/// The moved items, which do not align with themselves.
struct MovedThings {
    std::set<NodeId> nodes;
    std::set<DotRef> dots;
    std::vector<QPointF> ends; ///< the ends of the dots' wires
};

/// The union of both rectangles, including rectangles of size 0, which QRectF ignores.
QRectF around(const QRectF& a, const QRectF& b) noexcept;
/// Compares the edges and the centre of `bounds` with those of nearby cards: x with all, y with cards on
/// `lane`. If only dots are moved, also with other dots and with `ends`. Ignores anything farther than
/// `range`.
AlignmentGuides findGuides(const Scene& scene, const QRectF& bounds, const MovedThings& moved, LaneId lane,
                           double range);
/// The lines along which `bounds` is exactly aligned.
std::vector<QLineF> guideLines(const Scene& scene, const QRectF& bounds, const MovedThings& moved,
                               LaneId lane);

} // namespace twb
