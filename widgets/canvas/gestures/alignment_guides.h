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

/// Compares the edges and the middle of `moved` with the same of the cards around it, but for those in
/// `movedNodes`: x with all of them, y with those on `lane`. Nothing further away than `range` counts.
AlignmentGuides findGuides(const Scene& scene, const QRectF& moved, const std::set<NodeId>& movedNodes,
                           LaneId lane, double range);
/// Lines through everything that `moved` lines up with exactly.
std::vector<QLineF> guideLines(const Scene& scene, const QRectF& moved, const std::set<NodeId>& movedNodes,
                               LaneId lane);

} // namespace twb
