#pragma once

#include "widgets/canvas/scene.h"

#include <QString>

#include <set>
#include <vector>

namespace twb {

/// The way of a tensor over the canvas: where it was created, each copy of it, and where each is read last.
struct JourneyShape {
    struct Mark {
        enum class Kind : std::uint8_t { created, copied, dies };
        Kind kind = Kind::created;
        QPointF at; ///< a port, or the middle of a copy's upper edge
        Device device;
        QString text;
    };
    std::set<Edge> wires; ///< that it, or a copy of it, runs along
    std::vector<Mark> marks;
};

/// Of the tensor that runs along a wire.
JourneyShape journeyShape(const Scene& scene, const Graph& graph, const Analysis& analysis, const Edge& wire);

} // namespace twb
