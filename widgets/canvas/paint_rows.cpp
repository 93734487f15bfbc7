#include "widgets/canvas/paint_parts.h"

#include <algorithm>

namespace twb {

void paintRow(const Pass& pass, std::uint32_t slot) {
    constexpr double kRadius = 5;
    constexpr double kBar = 5;
    const NodeShape& shape = pass.scene.nodes()[slot];
    const NodeCard* card = pass.scene.texts().find(slot);
    const Theme& theme = pass.theme();
    QPainter& painter = pass.painter;
    const QRectF& r = shape.rect;
    const bool isWrong = shape.hasError || pass.scene.wires().isMismatch(shape);
    const Selection* selection = pass.state.selection;
    const bool isEdge = selection && selection->edge && selection->edge->from.node == shape.id;
    const bool isHovered = pass.state.hover.node == shape.id && pass.state.hover.kind == Hit::Kind::node;
    const bool isElsewhere = card && card->deviceWidth > 0;

    QPen outline(Qt::NoPen);
    if (pass.isSelected(shape.id) || isEdge)
        outline = QPen(theme.accent, 2);
    else if (isWrong)
        outline = QPen(theme.error, 1.4);
    else if (shape.hasWarning)
        outline = QPen(theme.warning, 1.2);
    else if (isElsewhere)
        outline = QPen(theme.device(shape.device), 1.2);
    else if (isHovered)
        outline = QPen(withAlpha(theme.secondaryText, 0.75), 1);
    const bool isReadable = card && pass.detail == Detail::full;
    if (card && !isReadable) {
        // A bar in the place of the name; an empty row would look like a field.
        painter.setPen(Qt::NoPen);
        painter.setBrush(withAlpha(isWrong ? theme.error : theme.secondaryText, 0.4));
        const double width = std::min(card->title.size().width(), r.width() - 2 * kRowPadding);
        painter.drawRoundedRect(QRectF(r.left() + kRowPadding, r.center().y() - kBar / 2, width, kBar),
                                kBar / 2, kBar / 2);
        if (outline.style() == Qt::NoPen) return;
    }
    painter.setPen(outline);
    painter.setBrush(!isReadable ? Qt::NoBrush
                     : isWrong   ? withAlpha(theme.error, 0.14)
                                 : (theme.isDark ? theme.canvas : theme.window));
    const double inset = outline.style() == Qt::NoPen ? 0 : outline.widthF() / 2;
    painter.drawRoundedRect(r.adjusted(inset, inset, -inset, -inset), kRadius, kRadius);
    if (!isReadable) return;

    if (shape.isDisabled) {
        painter.setPen(QPen(theme.secondaryText, 1));
        painter.drawLine(
            QLineF(r.left() + kRowPadding, r.center().y(), r.right() - kRowPadding, r.center().y()));
    }
    painter.setFont(font(TextRole::small));
    painter.setPen(isWrong ? theme.error : shape.isDisabled ? theme.secondaryText : theme.text);
    painter.drawStaticText(QPointF(r.left() + kRowPadding, r.center().y() - card->title.size().height() / 2),
                           card->title);
    const QStaticText& value = isElsewhere ? card->deviceWord : card->chip;
    const double width = isElsewhere ? card->deviceWidth : card->chipWidth;
    if (width <= 0) return;
    painter.setFont(font(TextRole::smallFigure));
    painter.setPen(isWrong ? theme.error : isElsewhere ? theme.deviceInk(shape.device) : theme.secondaryText);
    painter.drawStaticText(
        QPointF(r.right() - kRowPadding - width, r.center().y() - value.size().height() / 2), value);
}

} // namespace twb
