#include "widgets/canvas/minimap.h"

#include "widgets/canvas/canvas_widget.h"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <iterator>

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

void Minimap::setWanted(bool isWanted) {
    m_isWanted = isWanted;
    place();
}

bool Minimap::mayStandAt(const QRect& place) const {
    const CanvasView& view = m_canvas.view();
    const QRectF under(view.toScene(place.topLeft()), QSizeF(place.size()) / view.zoom());
    const auto covers = [&](const auto& shapes) {
        return std::any_of(shapes.begin(), shapes.end(),
                           [&](const auto& shape) { return shape.rect.intersects(under); });
    };
    const bool hasScale = m_canvas.figures().heatBy() != HeatBy::none;
    if (hasScale && heatScaleBox(QSizeF(m_canvas.size())).intersects(QRectF(place))) return false;
    if (covers(m_scene.notes()) || covers(m_scene.stubs().shapes())) return false;
    const CanvasNavigator& navigator = m_canvas.navigator();
    const QRectF all = navigator.inside() == FrameId::none ? navigator.content() : m_scene.shownExtent();
    if (!view.freeViewport().contains(all.adjusted(0, 1, 0, -1))) return true;
    // All of the graph is in view, so the map would only hide a part of it.
    return !covers(m_scene.frames().shapes()) &&
           !m_scene.nodes().any(under, [](std::uint32_t) { return true; }) && !m_scene.wires().isAnyIn(under);
}

void Minimap::place() {
    if (QWidget::mouseGrabber() == this) return; // the map does not move during a drag in it
    constexpr int kMargin = 14;
    const QSize size = sizeHint();
    const QSize room = m_canvas.size();
    const int right = room.width() - size.width() - kMargin;
    const int left = static_cast<int>(headerWidthFor(room.width())) + kMargin;
    const int bottom = room.height() - size.height() - kMargin;
    const QPoint corners[] = {{right, kMargin}, {right, bottom}, {left, bottom}, {left, kMargin}};
    const bool hasRoom = room.width() > 3 * size.width() && room.height() > 3 * size.height();
    const QPoint* corner = std::find_if(std::begin(corners), std::end(corners),
                                        [&](QPoint at) { return mayStandAt(QRect(at, size)); });
    const bool isFound = corner != std::end(corners);
    if (isFound) setGeometry(QRect(*corner, size));
    setVisible(m_isWanted && hasRoom && isFound);
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
    const QRectF seen = m_canvas.view().viewport();
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
    m_canvas.navigator().centerOn(m_shown.topLeft() + (event->position() - mapRect().topLeft()) / m_zoom);
}

void Minimap::wheelEvent(QWheelEvent* event) { event->ignore(); }

void Minimap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) m_map = {};
    QWidget::changeEvent(event);
}

} // namespace twb
