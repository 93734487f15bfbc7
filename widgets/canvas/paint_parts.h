#pragma once

#include "widgets/canvas/detail.h"
#include "widgets/canvas/paint_canvas.h"

#include <QPainter>

#include <vector>

namespace twb {

/// The state shared by the functions below, which each paint one layer of the canvas. They are listed from
/// the back to the front.
struct Pass {
    QPainter& painter;
    const Scene& scene;
    const PaintState& state;
    QRectF viewport;
    double zoom;
    Detail detail;

    const Theme& theme() const { return state.theme; }
    QPointF toScreen(QPointF p) const { return (p - viewport.topLeft()) * zoom; }
    bool isSelected(NodeId id) const { return state.selection && state.selection->nodes.contains(id); }
    /// The painter in canvas units for the length of a layer.
    void useCanvasUnits() const;
    void usePixels() const;
};

void paintLanes(const Pass& pass);
void paintLaneHeaders(const Pass& pass);
void paintFrames(const Pass& pass);
void paintFrameTitles(const Pass& pass);
void paintNotes(const Pass& pass);
void paintWires(const Pass& pass);
void paintGhosts(const Pass& pass);
void paintStubs(const Pass& pass);
/// A parameter that is drawn as a row on the card of the op that reads it.
void paintRow(const Pass& pass, std::uint32_t slot);
void paintCards(const Pass& pass);
/// Breakpoints, and the place where the run is stopped.
void paintStops(const Pass& pass);
void paintLabels(const Pass& pass);
/// Labels on the wires along the path of a tensor: its source, its copies and its consumers.
void paintJourney(const Pass& pass);
void paintFarNodes(const Pass& pass);
void paintFarWires(const Pass& pass);
void paintDensity(const Pass& pass);
void paintPreview(const Pass& pass);

/// The background of a card: its heat colour, or the common background.
QColor cardGround(const Pass& pass, std::uint32_t slot);
QColor withAlpha(QColor color, double alpha);
QColor wireColor(const Theme& theme, WireClass kind);
/// Draws one short stroke across a wire for each dimension of its tensor, before its `end`, at which it
/// arrives along `direction`.
void paintRank(QPainter& painter, QPointF end, QPointF direction, int rank, const QColor& color);
/// The gap between the dots of a scalar's wire, which is dotted; in widths of the pen.
inline constexpr double kDotGap = 2.2;

/// A disc or triangle with "!" in it, about `radius` around `at`.
void paintBadge(QPainter& painter, const Theme& theme, Severity severity, QPointF at, double radius);

} // namespace twb
