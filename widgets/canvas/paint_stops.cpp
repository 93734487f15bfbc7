#include "widgets/canvas/paint_parts.h"

#include <QPainterPath>

#include <cmath>
#include <numbers>

namespace twb {
namespace {

constexpr double kRadius = 7.5;     ///< of a breakpoint's mark
constexpr double kRingGap = 5;      ///< from a card to the ring around it
constexpr double kArrow = 15;       ///< its height
constexpr double kLeastZoom = 0.45; ///< below it a mark keeps its size on the screen

/// The stop sign's shape, which nothing else on the canvas has.
QPolygonF octagon(QPointF middle, double radius) {
    QPolygonF shape;
    for (int i = 0; i < 8; ++i) {
        const double angle = (i + 0.5) * std::numbers::pi / 4;
        shape << middle + radius * QPointF(std::cos(angle), std::sin(angle));
    }
    return shape;
}

/// Filled while it is enabled. Before, after, on what is found: a bar to the left, a bar to the right, a "?".
void paintBreakpoint(QPainter& painter, const Theme& theme, const Breakpoint& breakpoint, QPointF at,
                     double scale) {
    const QColor color = theme.frame(FrameColor::purple);
    const QColor ink = breakpoint.enabled ? theme.raised : color;
    painter.setPen(QPen(breakpoint.enabled ? theme.raised : color, 1.5 * scale));
    painter.setBrush(breakpoint.enabled ? color : theme.raised);
    painter.drawPolygon(octagon(at, kRadius * scale));
    painter.setPen(QPen(ink, 1.8 * scale, Qt::SolidLine, Qt::RoundCap));
    painter.setBrush(Qt::NoBrush);
    if (breakpoint.looks()) {
        painter.drawArc(QRectF(at + QPointF(-2.2, -4.1) * scale, QSizeF(4.4, 4.4) * scale), -90 * 16,
                        250 * 16);
        painter.drawPoint(at + QPointF(0, 3.4) * scale);
        return;
    }
    const double side = breakpoint.kind == Breakpoint::Kind::before ? -2.4 : 2.4;
    painter.drawLine(at + QPointF(side, -3) * scale, at + QPointF(side, 3) * scale);
    painter.drawPoint(at + QPointF(-side, 0) * scale);
}

/// A ring around the card, and an arrow into it (it comes next) or out of it (it has run).
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
    const double scale = std::max(1.0, kLeastZoom / pass.zoom);
    pass.useCanvasUnits();
    scene.visitNodes(pass.viewport.adjusted(-16, -16, 16, 16), [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        const bool isDrawn = shape.kind == NodeShape::Kind::card || shape.kind == NodeShape::Kind::pill;
        if (!shape.breakpoint || !isDrawn) return;
        paintBreakpoint(pass.painter, pass.theme(), *shape.breakpoint,
                        {shape.rect.left() + 16, shape.rect.bottom()}, scale); // beside the ports
    });
    const bool stands = pass.state.run && pass.state.run->stop;
    const NodeShape* shape = stands ? scene.drawn(pass.state.run->stop->node) : nullptr;
    if (shape) paintStop(pass, shape->rect, pass.state.run->stop->after);
    pass.usePixels();
}

} // namespace twb
