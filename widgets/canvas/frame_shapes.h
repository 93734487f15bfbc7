#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <unordered_map>
#include <vector>

namespace twb {

class Scene;

/// The frames of a scene, around the cards of their nodes.
class FrameShapes {
public:
    const std::vector<FrameShape>& shapes() const noexcept { return m_frames; } ///< parents first
    const FrameShape* find(FrameId id) const noexcept;
    /// The innermost frame around a point, without frames that are being moved; otherwise the open module, or
    /// none.
    FrameId around(QPointF at) const noexcept;
    /// The bounding rectangle of the card of `shape` and of the frames around it that are not around `other`.
    QRectF outskirtsOf(const NodeShape& shape, const NodeShape& other) const;

    /// Reads the frames of the scene. Returns whether an outline changed.
    bool read(const Scene& scene, const Graph& graph);
    /// When the user zooms out, a title keeps its size on the screen, unless it would cover a card, a note or
    /// another title: it then moves along the frame's upper edge, then to the lower one, and then becomes
    /// smaller. A collapsed module has one beside its card while the title of the card is illegible.
    void placeTitles(const Scene& scene, double zoom);

private:
    struct Obstacles;

    void placeModuleTitles(double zoom, Obstacles& obstacles);
    void markCarried(const Scene& scene);

    std::vector<FrameShape> m_frames;
    std::unordered_map<FrameId, std::size_t> m_indexOf;
    std::vector<std::size_t> m_fixed; ///< the frames that are not being moved
    FrameId m_open = FrameId::none;
};

} // namespace twb
