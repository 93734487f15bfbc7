// Ops that are dragged here from the palette.

#include "widgets/canvas/canvas_widget.h"
#include "widgets/palette/op_list_model.h"

#include <QDragEnterEvent>
#include <QDragLeaveEvent>
#include <QDragMoveEvent>
#include <QDropEvent>
#include <QMimeData>

namespace twb {

void CanvasWidget::dragEnterEvent(QDragEnterEvent* event) {
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    m_dropPreview.dropTitle = QString::fromUtf8(event->mimeData()->data(QLatin1String(kOpMimeType)));
    event->acceptProposedAction();
}

void CanvasWidget::dragMoveEvent(QDragMoveEvent* event) {
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    const QPoint at = event->position().toPoint();
    const LaneBand* band = m_scene.lane(laneAt(at));
    const Position position = positionAt(at);
    m_dropPreview.lanes.clear();
    if (band) m_dropPreview.lanes.push_back(band->id);
    m_dropPreview.frame = frameAt(band ? band->id : LaneId::none, position);
    m_dropPreview.drop =
        QRectF(position.x, (band ? band->top : 0) + position.y, card::minWidth, card::height);
    m_dropPreview.splice.reset();
    if (const auto splice = spliceAt(position, band ? band->id : LaneId::none, m_dropPreview.dropTitle)) {
        const QRectF& card = *m_dropPreview.drop;
        m_dropPreview.splice = {splice->wire, QPointF(card.left(), card.center().y()),
                                QPointF(card.right(), card.center().y())};
    }
    event->acceptProposedAction();
    update();
}

std::optional<Splice> CanvasWidget::spliceAt(Position position, LaneId lane, const QString& op) const {
    const LaneBand* band = m_scene.lane(lane);
    if (!band) return std::nullopt;
    const QPointF middle(position.x + card::minWidth / 2, band->top + position.y + card::height / 2);
    const auto wire = m_scene.wireNear(middle, kSpliceRange, NodeId::none);
    return wire ? spliceOf(m_document.analysis(), *wire, op.toStdString()) : std::nullopt;
}

void CanvasWidget::dragLeaveEvent(QDragLeaveEvent*) {
    m_dropPreview = {};
    update();
}

void CanvasWidget::dropEvent(QDropEvent* event) {
    m_dropPreview = {};
    update();
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    const QPoint at = event->position().toPoint();
    event->acceptProposedAction();
    setFocus(Qt::MouseFocusReason);
    const QString op = QString::fromUtf8(event->mimeData()->data(QLatin1String(kOpMimeType)));
    Q_EMIT opDropped(op, laneAt(at), positionAt(at), spliceAt(positionAt(at), laneAt(at), op));
}

} // namespace twb
