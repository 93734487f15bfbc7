#include "widgets/canvas/paint_parts.h"

#include <QPainterPath>

#include <cmath>
#include <numbers>

namespace twb {
namespace {

constexpr double kMarkRadius = 7.5; ///< of a breakpoint's mark
constexpr double kOfRow = 0.75;     ///< relative size on a folded parameter
constexpr double kRingGap = 5;      ///< between a card and the ring around it
constexpr double kArrow = 15;       ///< height
constexpr double kLeastZoom = 0.45; ///< below this zoom a mark keeps its size on the screen

/// The octagon of a stop sign, which is unique on the canvas.
QPolygonF octagon(QPointF middle, double radius) {
    QPolygonF shape;
    for (int i = 0; i < 8; ++i) {
        const double angle = (i + 0.5) * std::numbers::pi / 4;
        shape << middle + radius * QPointF(std::cos(angle), std::sin(angle));
    }
    return shape;
}

/// Filled if it is enabled. Before: a bar to the left; after: a bar to the right; condition: a "?".
void paintMark(QPainter& painter, const Theme& theme, StopMarks::Mark mark, bool isEnabled, QPointF at,
               double scale) {
    const QColor color = theme.frame(FrameColor::purple);
    const QColor ink = isEnabled ? theme.raised : color;
    painter.setPen(QPen(isEnabled ? theme.raised : color, 1.5 * scale));
    painter.setBrush(isEnabled ? color : theme.raised);
    painter.drawPolygon(octagon(at, kMarkRadius * scale));
    painter.setPen(QPen(ink, 1.8 * scale, Qt::SolidLine, Qt::RoundCap));
    painter.setBrush(Qt::NoBrush);
    if (mark == StopMarks::looks) {
        painter.drawArc(QRectF(at + QPointF(-2.2, -4.1) * scale, QSizeF(4.4, 4.4) * scale), -90 * 16,
                        250 * 16);
        painter.drawPoint(at + QPointF(0, 3.4) * scale);
        return;
    }
    const double side = mark == StopMarks::before ? -2.4 : 2.4;
    painter.drawLine(at + QPointF(side, -3) * scale, at + QPointF(side, 3) * scale);
    painter.drawPoint(at + QPointF(-side, 0) * scale);
}

/// Beside the ports of a card, at the left end of a row.
void paintMarks(const Pass& pass, const NodeShape& shape) {
    const bool isRow = shape.kind == NodeShape::Kind::row;
    const double scale = (isRow ? kOfRow : 1) * std::max(1.0, kLeastZoom / pass.zoom);
    QPointF at = isRow ? QPointF(shape.rect.left() - 3, shape.rect.center().y())
                       : QPointF(shape.rect.left() + 16, shape.rect.bottom());
    for (const auto mark : {StopMarks::before, StopMarks::after, StopMarks::looks}) {
        if (!(shape.stops.present & mark)) continue;
        paintMark(pass.painter, pass.theme(), mark, shape.stops.enabled & mark, at, scale);
        at.rx() += 2.3 * kMarkRadius * scale;
    }
}

/// A ring around the card, with an arrow into it (it is next) or out of it (it has run).
void paintStop(const Pass& pass, const QRectF& card, bool after) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const double scale = std::max(1.0, kLeastZoom / pass.zoom);
    const QRectF ring = card.adjusted(-kRingGap, -kRingGap, kRingGap, kRingGap);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.warning, 2.5 * scale));
    painter.drawRoundedRect(ring, metrics::cardRadius + kRingGap, metrics::cardRadius + kRingGap);
    const QPointF tip((after ? ring.right() + kArrow * scale : ring.left()) + 1, card.center().y());
    QPainterPath arrow(tip);
    arrow.lineTo(tip + QPointF(-kArrow * 0.6, -kArrow / 2) * scale);
    arrow.lineTo(tip + QPointF(-kArrow * 1.3, -kArrow / 2) * scale);
    arrow.lineTo(tip + QPointF(-kArrow * 1.3, kArrow / 2) * scale);
    arrow.lineTo(tip + QPointF(-kArrow * 0.6, kArrow / 2) * scale);
    arrow.closeSubpath();
    painter.setPen(QPen(theme.canvas, 1.5 * scale));
    painter.setBrush(theme.warning);
    painter.drawPath(arrow);
}

} // namespace

void paintStops(const Pass& pass) {
    const Scene& scene = pass.scene;
    pass.useCanvasUnits();
    const bool stands = pass.state.run && pass.state.run->stop;
    const NodeShape* here = stands ? scene.nodes().drawn(pass.state.run->stop->node) : nullptr;
    if (here) paintStop(pass, here->rect, pass.state.run->stop->after);
    scene.nodes().visit(pass.viewport.adjusted(-16, -16, 16, 16), [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        if (shape.stops.present && shape.kind != NodeShape::Kind::hidden) paintMarks(pass, shape);
    });
    pass.usePixels();
}

} // namespace twb
