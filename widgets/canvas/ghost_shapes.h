#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <unordered_map>
#include <vector>

namespace twb {

class Scene;

/// The copies of the implicit policy, as pills on the borders of lanes.
class GhostShapes {
public:
    const std::vector<GhostShape>& shapes() const noexcept { return m_ghosts; }
    const GhostShape& operator[](std::int32_t index) const {
        return m_ghosts[static_cast<std::size_t>(index)];
    }
    /// The index of the pill on the wire into an input; -1 if there is none.
    std::int32_t on(PortRef input) const noexcept;

    /// Returns the inputs whose wires had a pill or have one now.
    std::vector<PortRef> read(const Scene& scene, const Analysis& analysis);

private:
    std::vector<GhostShape> m_ghosts;
    std::unordered_map<PortRef, std::int32_t, PortHash> m_indexOf; ///< by input
};

} // namespace twb
