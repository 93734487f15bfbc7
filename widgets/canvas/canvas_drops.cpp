// Drops of ops from the palette.

#include "core/error.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/entry_outline.h"
#include "widgets/palette/op_list_model.h"

#include <QDragEnterEvent>
#include <QDragLeaveEvent>
#include <QDragMoveEvent>
#include <QDropEvent>
#include <QMimeData>

#include <algorithm>
#include <cmath>

namespace twb {

void CanvasWidget::dragEnterEvent(QDragEnterEvent* event) {
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    m_dropPreview.dropTitle = QString::fromUtf8(event->mimeData()->data(QLatin1String(kOpMimeType)));
    event->acceptProposedAction();
}

void CanvasWidget::dragMoveEvent(QDragMoveEvent* event) {
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    const NewPlace place = placeFor(m_dropPreview.dropTitle, event->position().toPoint());
    m_dropPreview.lanes.clear();
    if (place.lane != LaneId::none) m_dropPreview.lanes.push_back(place.lane);
    m_dropPreview.frame = frameAt(place.lane, place.position);
    m_dropPreview.drop = place.outline;
    m_dropPreview.splice.reset();
    if (place.splice)
        m_dropPreview.splice = {place.splice->wire, QPointF(place.outline.left(), place.outline.center().y()),
                                QPointF(place.outline.right(), place.outline.center().y())};
    event->acceptProposedAction();
    update();
}

std::optional<Splice> CanvasWidget::spliceAt(QPointF at, const QString& op) const {
    const auto wire = m_scene.wireNear(at, kSpliceRange, NodeId::none);
    return wire ? spliceOf(m_document.analysis(), *wire, op.toStdString()) : std::nullopt;
}

QRectF CanvasWidget::outlineOf(const QString& op, const LaneBand& band, const std::optional<Splice>& splice,
                               const std::optional<LooseWire>& held) const {
    std::optional<FedTensor> fed;
    const auto feed = [&](PortRef from, const std::optional<EntryPort>& into) {
        const std::optional<TensorType>& type = m_document.analysis().typeOf(from);
        if (into && type && type->isKnown()) fed = FedTensor{*into, *type};
    };
    if (splice)
        feed(splice->wire.from, splice->input);
    else if (held && held->heldBy == PortSide::output)
        feed(held->port, inputFor(op.toStdString(), typesOf(m_document.analysis(), *held)));
    try {
        return outlineOfEntry(op, m_document.graph(), *m_document.graph().find(band.id), m_document.devices(),
                              fed);
    } catch (const Error&) {
        return {0, 0, card::minWidth, card::height}; // an unknown entry: adding it reports the error
    }
}

CanvasWidget::NewPlace CanvasWidget::placeFor(const QString& op, QPoint point, Grip grip,
                                              const std::optional<LooseWire>& held) const {
    constexpr double kClear = 8; ///< between cards
    constexpr int kMostSteps = 400;
    const QPointF at = m_view.toScene(point);
    const LaneBand* band = m_scene.lane(laneAt(point));
    if (!band) return {LaneId::none, {}, {at - QPointF(60, 37), QSizeF(card::minWidth, card::height)}, {}};
    NewPlace place;
    place.lane = band->id;
    if (grip == Grip::middle && !held) place.splice = spliceAt(at, op);
    const QRectF outline = outlineOf(op, *band, place.splice, held);
    const double across = grip == Grip::left    ? outline.left()
                          : grip == Grip::right ? outline.right()
                                                : outline.center().x();
    const auto onGrid = [](double x) { return std::max(kGrid, std::round(x / kGrid) * kGrid); };
    place.position = {onGrid(at.x() - across), onGrid(at.y() - band->top - outline.center().y())};
    // A card inserted into a wire stays between the wire's ends.
    const Position step{place.splice ? 0 : kGrid, kGrid};
    for (int steps = 0; steps < kMostSteps; ++steps) {
        place.outline = outline.translated(place.position.x, band->top + place.position.y);
        if (outline.left() == 0) // a single card; a module's frame begins further left
            place.outline.setWidth(
                std::max(outline.width(), m_scene.columnWidth(place.lane, place.position.x)));
        const bool isColumnFree =
            place.splice || outline.left() != 0 ||
            m_scene.mayWiden(place.lane, place.position.x, place.outline.width(), kClear);
        if (isColumnFree && m_scene.isFree(place.outline.adjusted(-kClear, -kClear, kClear, kClear))) break;
        place.position = {place.position.x + step.x, place.position.y + step.y};
    }
    return place;
}

void CanvasWidget::dragLeaveEvent(QDragLeaveEvent*) {
    m_dropPreview = {};
    update();
}

void CanvasWidget::dropEvent(QDropEvent* event) {
    m_dropPreview = {};
    update();
    if (!event->mimeData()->hasFormat(QLatin1String(kOpMimeType))) return;
    event->acceptProposedAction();
    setFocus(Qt::MouseFocusReason);
    const QString op = QString::fromUtf8(event->mimeData()->data(QLatin1String(kOpMimeType)));
    const NewPlace place = placeFor(op, event->position().toPoint());
    Q_EMIT opDropped(op, place.lane, place.position, place.splice);
}

} // namespace twb
