#pragma once

#include "widgets/canvas/scene.h"

#include <QString>

#include <set>
#include <vector>

namespace twb {

/// The journey of a tensor on the canvas: its origin, its copies, and its last consumer on each device.
struct JourneyShape {
    struct Mark {
        enum class Kind : std::uint8_t { created, copied, dies };
        Kind kind = Kind::created;
        QPointF at; ///< a port, or the middle of the top edge of a copy
        Device device;
        QString text;
    };
    std::set<Edge> wires; ///< the wires of the tensor and its copies
    std::vector<Mark> marks;
};

/// The journey of the tensor on a wire.
JourneyShape journeyShape(const Scene& scene, const Graph& graph, const Analysis& analysis, const Edge& wire);

} // namespace twb
