#include "widgets/canvas/journey_shape.h"
#include "widgets/canvas/paint_parts.h"

#include <QFontMetricsF>

#include <algorithm>

namespace twb {
namespace {

using Mark = JourneyShape::Mark;

constexpr double kRadius = 6.5;
constexpr double kPadding = 6;
constexpr double kLegible = 0.82; ///< below this zoom, signs and words keep their size on the screen

/// A disc at the origin, a double ring at a copy, a cross at the last consumer.
void paintSign(QPainter& painter, const Theme& theme, const Mark& mark, double scale) {
    const double radius = kRadius * scale;
    const double arm = 2.6 * scale;
    const QColor color = theme.device(mark.device);
    switch (mark.kind) {
    case Mark::Kind::created:
        painter.setPen(QPen(theme.canvas, 1.5 * scale));
        painter.setBrush(color);
        painter.drawEllipse(mark.at, radius, radius);
        return;
    case Mark::Kind::copied:
        painter.setPen(QPen(color, 1.8 * scale));
        painter.setBrush(theme.canvas);
        painter.drawEllipse(mark.at, radius, radius);
        painter.drawEllipse(mark.at, radius - 3.4 * scale, radius - 3.4 * scale);
        return;
    case Mark::Kind::dies:
        painter.setPen(QPen(color, 1.8 * scale));
        painter.setBrush(theme.canvas);
        painter.drawEllipse(mark.at, radius, radius);
        painter.drawLine(mark.at + QPointF(-arm, -arm), mark.at + QPointF(arm, arm));
        painter.drawLine(mark.at + QPointF(-arm, arm), mark.at + QPointF(arm, -arm));
        return;
    }
}

/// Whether words at this place would overlap a card, a price or other words.
bool isTaken(const Scene& scene, const QRectF& room, const std::vector<QRectF>& taken) {
    bool found = std::any_of(taken.begin(), taken.end(), [&](const QRectF& r) { return r.intersects(room); });
    // A price is below its card, or beside the middle of its wire.
    constexpr double kAround = 64;
    scene.nodes().visit(room.adjusted(-kAround, -kAround, kAround, kAround), [&](std::uint32_t slot) {
        const PriceLabel* price = scene.labels().ofNode(slot);
        found = found || scene.nodes()[slot].rect.intersects(room) || (price && price->rect.intersects(room));
    });
    scene.wires().visit(room.adjusted(-kAround, -kAround, kAround, kAround), [&](std::uint32_t slot) {
        const PriceLabel* price = scene.labels().ofWire(slot);
        found = found || (price && price->rect.intersects(room));
    });
    return found;
}

/// Beside the sign: to the right for an origin, to the left for an end.
QRectF wordsRoom(const Scene& scene, QSizeF size, const Mark& mark, double scale,
                 const std::vector<QRectF>& taken) {
    const double gap = (kRadius + 4) * scale;
    const double toRight = gap;
    const double toLeft = -gap - size.width();
    const double centred = -size.width() / 2;
    const double above = -gap - size.height();
    const double below = gap;
    using Kind = Mark::Kind;
    const double side = mark.kind == Kind::created ? toRight : mark.kind == Kind::dies ? toLeft : centred;
    const double first = mark.kind == Kind::dies ? below : above;
    const double second = mark.kind == Kind::dies ? above : below;
    const QPointF places[] = {{side, first},    {side, second},    {toRight, first}, {toLeft, first},
                              {centred, first}, {centred, second}, {toLeft, second}, {toRight, second}};
    for (const double further : {0.0, 1.0, 2.0}) {
        for (const QPointF place : places) {
            const double way = (place.y() < 0 ? -1 : 1) * further * (size.height() + 2);
            const QRectF room(mark.at + place + QPointF(0, way), size);
            if (!isTaken(scene, room, taken)) return room;
        }
    }
    return {mark.at + places[0], size};
}

} // namespace

void paintJourney(const Pass& pass) {
    if (!pass.state.journey) return;
    const Theme& theme = pass.theme();
    QPainter& painter = pass.painter;
    pass.useCanvasUnits();
    painter.setFont(font(TextRole::small));
    const QFontMetricsF metrics(painter.font());
    const double scale = std::max(1.0, kLegible / pass.zoom);
    std::vector<QRectF> taken;
    for (const Mark& mark : pass.state.journey->marks) {
        paintSign(painter, theme, mark, scale);
        if (pass.zoom < kReadableZoom) continue;
        const QSizeF size(metrics.horizontalAdvance(mark.text) + 2 * kPadding, metrics.height() + 4);
        const QRectF room = wordsRoom(pass.scene, size * scale, mark, scale, taken);
        taken.push_back(room);
        painter.save();
        painter.translate(room.topLeft());
        painter.scale(scale, scale);
        painter.setPen(QPen(theme.border, 1));
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(QRectF({}, size), 5, 5);
        painter.setPen(theme.text);
        painter.drawText(QRectF({}, size), Qt::AlignCenter, mark.text);
        painter.restore();
    }
    pass.usePixels();
}

} // namespace twb
