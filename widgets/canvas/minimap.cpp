#include "widgets/canvas/minimap.h"

#include "widgets/canvas/canvas_widget.h"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>

namespace twb {

Minimap::Minimap(CanvasWidget& canvas, const Scene& scene)
    : QWidget(&canvas), m_canvas(canvas), m_scene(scene) {
    setCursor(Qt::PointingHandCursor);
    setAccessibleName(tr("Overview of the graph"));
    setToolTip(tr("Click or drag to move the view."));
}

QRectF Minimap::mapRect() const { return QRectF(rect()).adjusted(5, 5, -5, -5); }

void Minimap::sceneMayHaveChanged() {
    if (m_version != m_scene.version()) update();
}

void Minimap::render() {
    m_version = m_scene.version();
    const QRectF map = mapRect();
    m_shown = m_scene.extent().adjusted(-40, 0, 40, 0);
    m_zoom = std::min(map.width() / m_shown.width(), map.height() / m_shown.height());
    // Centred, with margins.
    const QSizeF size = map.size() / m_zoom;
    m_shown = QRectF(m_shown.center().x() - size.width() / 2, m_shown.center().y() - size.height() / 2,
                     size.width(), size.height());
    const double ratio = devicePixelRatioF();
    m_map = QPixmap((map.size() * ratio).toSize());
    m_map.setDevicePixelRatio(ratio);
    QPainter painter(&m_map);
    PaintState state(Theme::current());
    state.bare = true;
    // Always draws boxes, even for a small graph.
    paintOverview(painter, m_scene, state, m_shown, m_zoom);
}

void Minimap::paintEvent(QPaintEvent*) {
    if (m_version != m_scene.version() || m_map.isNull()) render();
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF outer = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(outer, metrics::cardRadius, metrics::cardRadius);
    const QRectF map = mapRect();
    QPainterPath clip;
    clip.addRoundedRect(map, 4, 4);
    painter.setClipPath(clip);
    painter.drawPixmap(map.topLeft(), m_map);
    const QRectF seen = m_canvas.viewport();
    const QRectF frame((seen.topLeft() - m_shown.topLeft()) * m_zoom + map.topLeft(), seen.size() * m_zoom);
    painter.setClipping(false);
    painter.setPen(QPen(theme.accent, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(frame.intersected(map).adjusted(0.75, 0.75, -0.75, -0.75), 3, 3);
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) mouseMoveEvent(event);
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (!(event->buttons() & Qt::LeftButton)) return;
    m_canvas.centerOn(m_shown.topLeft() + (event->position() - mapRect().topLeft()) / m_zoom);
}

void Minimap::wheelEvent(QWheelEvent* event) { event->ignore(); }

void Minimap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) m_map = {};
    QWidget::changeEvent(event);
}

} // namespace twb
