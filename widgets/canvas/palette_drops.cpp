#include "widgets/canvas/palette_drops.h"

#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/palette/op_list_model.h"

#include <QDropEvent>
#include <QMimeData>

namespace twb {
namespace {

/// The op that is dragged; nothing for a drag of something else.
QString opOf(const QDropEvent& event) {
    return QString::fromUtf8(event.mimeData()->data(QLatin1String(kOpMimeType)));
}

} // namespace

PaletteDrops::PaletteDrops(CanvasWidget& canvas) : QObject(&canvas), m_canvas(canvas) {
    canvas.setAcceptDrops(true);
    canvas.installEventFilter(this);
}

void PaletteDrops::move(QDropEvent& event) {
    const Scene& scene = m_canvas.scene();
    const QString op = opOf(event);
    const EntryPlace place =
        placeFor(op, m_canvas.view().toScene(event.position().toPoint()), m_canvas.document(), scene);
    m_preview = {};
    m_preview.dropTitle = op;
    if (place.lane != LaneId::none) m_preview.lanes.push_back(place.lane);
    m_preview.frame = frameAt(scene, place.lane, place.position);
    m_preview.drop = place.outline;
    const double middle = place.outline.center().y();
    if (place.splice)
        m_preview.splice = {place.splice->wire, QPointF(place.outline.left(), middle),
                            QPointF(place.outline.right(), middle)};
    event.acceptProposedAction();
    m_canvas.update();
}

void PaletteDrops::drop(QDropEvent& event) {
    event.acceptProposedAction();
    m_canvas.setFocus(Qt::MouseFocusReason);
    const QString op = opOf(event);
    const EntryPlace place = placeFor(op, m_canvas.view().toScene(event.position().toPoint()),
                                      m_canvas.document(), m_canvas.scene());
    Q_EMIT m_canvas.opDropped(op, place.lane, place.position, place.splice);
}

bool PaletteDrops::eventFilter(QObject*, QEvent* event) {
    switch (event->type()) {
    case QEvent::DragEnter: {
        auto& drag = *static_cast<QDropEvent*>(event);
        if (!opOf(drag).isEmpty()) drag.acceptProposedAction();
        return true;
    }
    case QEvent::DragMove: {
        auto& drag = *static_cast<QDropEvent*>(event);
        if (!opOf(drag).isEmpty()) move(drag);
        return true;
    }
    case QEvent::DragLeave:
    case QEvent::Drop:
        m_preview = {};
        m_canvas.update();
        if (event->type() == QEvent::Drop && !opOf(*static_cast<QDropEvent*>(event)).isEmpty())
            drop(*static_cast<QDropEvent*>(event));
        return true;
    default:
        return false;
    }
}

} // namespace twb
