#pragma once

#include "widgets/canvas/scene.h"

#include <cstdint>

namespace twb {

enum class Way : std::uint8_t {
    toProducer, ///< along the wire of its first input
    toConsumer, ///< along the wire to its nearest consumer
    up,         ///< to the nearest card above
    down
};

/// The next node in a direction; the node itself if there is none. Only cards count: a folded parameter is
/// part of its card.
NodeId stepFrom(const Scene& scene, const Graph& graph, NodeId node, Way way);

} // namespace twb
