#include "widgets/canvas/canvas_picture.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {

CanvasPicture::CanvasPicture(Scene& scene, const SceneSource& source, const PaintState& state)
    : m_scene(scene), m_source(source), m_state(state) {
    constexpr double kMargin = 24;
    constexpr double kHeatFoot = 90; ///< the scale below the cards
    m_state.preview = nullptr;
    m_state.hover = {};
    m_state.journey = nullptr;
    m_state.selection = nullptr;
    m_extent = scene.extent().adjusted(-kMargin, 0, kMargin, state.heat ? kHeatFoot : 0);
}

QSizeF CanvasPicture::size() const { return m_extent.size() + QSizeF(m_state.headerWidth, 0); }

QImage CanvasPicture::image(double scale) const {
    constexpr double kMostPixels = 16384;
    const QSizeF all = size();
    const double fitted = std::min({scale, kMostPixels / all.width(), kMostPixels / all.height()});
    const QSize pixels(std::max(1, static_cast<int>(std::ceil(all.width() * fitted))),
                       std::max(1, static_cast<int>(std::ceil(all.height() * fitted))));
    QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
    image.fill(m_state.theme.canvas);
    QPainter painter(&image);
    // Above scale 1 the picture is that of a high-resolution screen, including headers.
    const double finer = std::max(fitted, 1.0);
    painter.scale(finer, finer);
    const double zoom = fitted / finer;
    const QRectF viewport(m_extent.left() - m_state.headerWidth / zoom, m_extent.top(),
                          pixels.width() / fitted, pixels.height() / fitted);
    m_scene.prepare(m_source, viewport, zoom, m_state.run);
    paintCanvas(painter, m_scene, m_state, viewport, zoom);
    return image;
}

void CanvasPicture::paint(QPainter& painter, const QRectF& target) const {
    const QSizeF all = size();
    const double scale = std::min(target.width() / all.width(), target.height() / all.height());
    const QRectF viewport(m_extent.topLeft() - QPointF(m_state.headerWidth, 0), all);
    m_scene.prepare(m_source, viewport, 1.0, m_state.run);
    painter.save();
    painter.translate(target.topLeft());
    painter.scale(scale, scale);
    painter.setClipRect(QRectF(QPointF(), viewport.size()));
    paintCanvas(painter, m_scene, m_state, viewport, 1.0);
    painter.restore();
}

} // namespace twb
