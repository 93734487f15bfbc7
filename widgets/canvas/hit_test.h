#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <QPointF>

#include <optional>

namespace twb {

class Scene;

/// What lies under a point at this zoom.
Hit hitTest(const Scene& scene, QPointF point, double zoom);
/// The nearest wire within `range` of a point, even below other items, except the wires of one node.
std::optional<Edge> wireNear(const Scene& scene, QPointF point, double range, NodeId but);
/// The nearest of `ports` within `range`, for a wire during a drag.
std::optional<PortRef> nearestPort(const Scene& scene, QPointF point, PortSide side, double range,
                                   const PortSet& ports);

} // namespace twb
