#pragma once

#include "widgets/canvas/scene.h"

#include <QLineF>
#include <QPointF>

#include <optional>
#include <set>
#include <vector>

namespace twb {

/// Where something that is moved lines up with what stands near it.
struct AlignmentGuides {
    std::optional<double> x; ///< how far it must still go to line up, in canvas units
    std::optional<double> y;
};

/// What is moved, and so lines up with nothing of its own.
struct MovedThings {
    std::set<NodeId> nodes;
    std::set<DotRef> dots;
    std::vector<QPointF> ends; ///< what the wires of the dots come from and go to
};

/// Around both; to QRectF one without any size, a point, is none.
QRectF around(const QRectF& a, const QRectF& b) noexcept;
/// Compares the edges and the middle of `bounds` with the same of the cards around it: x with all of them, y
/// with those on `lane`. Where dots alone are moved, also with other dots and with their own `ends`. Nothing
/// further away than `range` counts.
AlignmentGuides findGuides(const Scene& scene, const QRectF& bounds, const MovedThings& moved, LaneId lane,
                           double range);
/// Lines through everything that `bounds` lines up with exactly.
std::vector<QLineF> guideLines(const Scene& scene, const QRectF& bounds, const MovedThings& moved,
                               LaneId lane);

} // namespace twb
