#pragma once

#include "core/buffer.h"
#include "widgets/canvas/heat.h"
#include "widgets/canvas/journey_shape.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"
#include "widgets/theme.h"

#include <QImage>

#include <map>
#include <set>

class QPainter;

namespace twb {

/// A wire that is being drawn by hand.
struct WirePreview {
    enum class State : std::uint8_t { open, snapped, refused };
    QPointF output; ///< the end that leaves an output
    QPointF input;
    QVarLengthArray<QPointF, 16> dots{}; ///< that it keeps
    WireClass kind = WireClass::unknown;
    State state = State::open;
};

/// Something that would be put into a wire, and where its ports are.
struct SplicePreview {
    Edge wire;
    QPointF input;
    QPointF output;
};

/// What a gesture shows before it ends.
struct Preview {
    std::vector<LaneId> lanes; ///< that would take what is dragged
    std::optional<WirePreview> wire;
    std::optional<Edge> lifted;       ///< the wire whose end is in the hand
    const PortSet* targets = nullptr; ///< ports that would take the wire; all others step back
    PortSide targetSide = PortSide::input;
    std::optional<PortRef> snapped;
    QString reason; ///< why what is under the wire does not take it
    std::optional<QRectF> rubberBand;
    FrameId frame = FrameId::none; ///< that would take what is dragged
    std::optional<QRectF> drop;    ///< where an op from the palette would stand
    QString dropTitle;
    std::optional<SplicePreview> splice;
    std::optional<double> laneEdge; ///< where the border of a lane would be
    std::vector<QLineF> guides;     ///< what is dragged lines up along these
    std::vector<QPointF> stroke;    ///< of the knife
    std::set<Edge> cut;             ///< by the stroke so far
};

/// What is drawn beside the scene.
struct PaintState {
    explicit PaintState(const Theme& inTheme) : theme(inTheme) {}

    const Theme& theme;
    const RunState* run = nullptr;
    const Selection* selection = nullptr;
    const Preview* preview = nullptr;
    const Heat* heat = nullptr;            ///< null: cards have their own colour
    const JourneyShape* journey = nullptr; ///< of the wire under the pointer
    Hit hover;
    std::map<Device, MemoryStats> memory; ///< live, for the lane headers
    double headerWidth = 0;               ///< of the lane headers, in pixels; 0: none
    bool bare = false;                    ///< no dots, no borders: the minimap
};

/// Draws what `viewport` (canvas units) shows at `zoom` (pixels for a unit) with its top left at the
/// painter's origin. Reads and draws; the scene was prepared for this viewport before. Screen, minimap and
/// pictures all come from here.
void paintCanvas(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                 double zoom);

/// The same from far away, whatever the zoom: boxes, lines and densities only.
void paintOverview(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                   double zoom);

/// Pixels that lane headers take at the left of a view this wide.
double headerWidthFor(double viewWidth) noexcept;

/// Where a lane's header, in pixels, has its arrow, which opens and collapses the lane; empty where there is
/// no room for it.
QRectF chevronOf(const QRectF& header, double viewHeight) noexcept;

/// What a picture of the whole graph shows, in canvas units, beside the lanes' headers.
QRectF pictureExtent(const Scene& scene, const PaintState& state);

/// The whole graph as a picture, `scale` pixels for a canvas unit, at most 16,384 on a side.
QImage renderCanvas(Scene& scene, const SceneSource& source, const PaintState& state, double scale);

} // namespace twb
