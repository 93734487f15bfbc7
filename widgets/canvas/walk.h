#pragma once

#include "widgets/canvas/scene.h"

#include <cstdint>

namespace twb {

enum class Way : std::uint8_t {
    toProducer, ///< along the wire into its first input
    toConsumer, ///< along the wire to the nearest of its readers
    up,         ///< to the nearest card above
    down
};

/// Where a step over the canvas leads from a node; the node itself where there is nothing that way. Cards
/// only: a folded parameter is a part of its card.
NodeId stepFrom(const Scene& scene, const Graph& graph, NodeId node, Way way);

} // namespace twb
