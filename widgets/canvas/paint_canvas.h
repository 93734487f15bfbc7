#pragma once

#include "core/buffer.h"
#include "widgets/canvas/heat.h"
#include "widgets/canvas/journey_shape.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"
#include "widgets/theme.h"

#include <map>
#include <set>

class QPainter;

namespace twb {

/// A wire during a drag.
struct WirePreview {
    enum class State : std::uint8_t { open, snapped, refused };
    QPointF output; ///< the end at an output
    QPointF input;
    QVarLengthArray<QPointF, 16> dots{}; ///< dots that it keeps
    WireClass kind = WireClass::unknown;
    State state = State::open;
};

/// A card that would be inserted into a wire, with the positions of its ports.
struct SplicePreview {
    Edge wire;
    QPointF input;
    QPointF output;
};

/// The preview of a gesture.
struct Preview {
    std::vector<LaneId> lanes; ///< lanes that would receive the dragged items
    std::optional<WirePreview> wire;
    std::optional<Edge> lifted;       ///< the wire whose end is being dragged
    const PortSet* targets = nullptr; ///< ports that accept the wire; all others are dimmed
    PortSide targetSide = PortSide::input;
    std::optional<PortRef> snapped;
    QString reason; ///< the reason why the port under the wire does not accept it
    std::optional<QRectF> rubberBand;
    FrameId frame = FrameId::none; ///< frame that would receive the dragged items
    std::optional<QRectF> drop;    ///< the card of a dragged op
    QString dropTitle;
    std::optional<SplicePreview> splice;
    std::optional<double> laneEdge; ///< new position of a lane's edge
    std::vector<QLineF> guides;     ///< alignment guides of the dragged items
    std::vector<QPointF> stroke;    ///< of the cutting gesture
    std::set<Edge> cut;             ///< wires cut so far
};

/// Other data for painting.
struct PaintState {
    explicit PaintState(const Theme& inTheme) : theme(inTheme) {}

    const Theme& theme;
    const RunState* run = nullptr;
    const Selection* selection = nullptr;
    const Preview* preview = nullptr;
    const Heat* heat = nullptr;            ///< null: cards have their normal colour
    const JourneyShape* journey = nullptr; ///< of the wire under the pointer
    Hit hover;
    std::map<Device, MemoryStats> memory; ///< live, for the lane headers
    double headerWidth = 0;               ///< in pixels; 0: no headers
    bool bare = false;                    ///< without grid dots and borders, for the minimap
    bool hasNotes = true;                 ///< false for small pictures
};

/// Paints the part `viewport` (canvas units) of the scene at `zoom` (pixels per unit), with its top left at
/// the painter's origin. The scene must be prepared for this viewport. Used for the screen, the minimap and
/// exported pictures.
void paintCanvas(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                 double zoom);

/// Paints boxes, lines and densities only, at any zoom.
void paintOverview(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                   double zoom);

/// The width of the lane headers in pixels, in a view of this width.
double headerWidthFor(double viewWidth) noexcept;

/// The rectangle of the collapse arrow in a lane's header, in pixels; empty if there is no room.
QRectF chevronOf(const QRectF& header, double viewHeight) noexcept;

} // namespace twb
