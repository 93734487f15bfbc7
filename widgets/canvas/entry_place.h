#pragma once

#include "widgets/add_op.h"
#include "widgets/canvas/scene_shapes.h"

#include <QPointF>
#include <QRectF>
#include <QString>

#include <optional>

namespace twb {

class Document;
class Scene;

/// The position for a palette entry, clear of existing cards and notes.
struct EntryPlace {
    LaneId lane = LaneId::none;
    Position position;
    QRectF outline; ///< of its cards, on the canvas
    std::optional<Splice> splice;
};
/// The point of the outline that is under the pointer, or as near to it as there is room.
enum class Grip : std::uint8_t { middle, left, right };
/// For a point of the canvas. With Grip::middle, the entry is inserted into a wire there. `held`: the wire
/// that will lead to it. The outline is measured on the real cards, so that a preview has the final size.
EntryPlace placeFor(const QString& op, QPointF at, const Document& document, const Scene& scene,
                    Grip grip = Grip::middle, const std::optional<LooseWire>& held = std::nullopt);
/// The lane at a point of the canvas, or the nearest one; none if the graph has no lanes.
LaneId laneAt(const Scene& scene, QPointF at);
/// The position in its lane, on the grid, for a card or a note added here.
Position positionAt(const Scene& scene, QPointF at);
/// The innermost frame around a card at a position, or none.
FrameId frameAt(const Scene& scene, LaneId lane, Position position);

} // namespace twb
