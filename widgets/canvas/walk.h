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

/// The next card in a direction, as the id of its shape; the card of `node` if there is none. A folded
/// parameter is part of its card, a node of a collapsed module part of the module's card.
NodeId stepFrom(const Scene& scene, const Graph& graph, NodeId node, Way way);

} // namespace twb
