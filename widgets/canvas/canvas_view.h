#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>

#include <algorithm>
#include <cmath>

namespace twb {

/// The visible part of the canvas and its zoom. Pure arithmetic.
class CanvasView {
public:
    static constexpr double kLeastZoom = 0.01;
    static constexpr double kMostZoom = 4;

    void setSize(QSizeF size, double pixelRatio) {
        m_size = size;
        m_pixelRatio = pixelRatio;
    }
    void setHeaderWidth(double width) { m_headerWidth = width; }

    double zoom() const noexcept { return m_zoom; }
    QPointF toScene(QPointF pixel) const noexcept { return m_origin + pixel / m_zoom; }
    QPointF toPixel(QPointF at) const noexcept { return (at - m_origin) * m_zoom; }
    QRectF toPixels(const QRectF& r) const noexcept { return {toPixel(r.topLeft()), r.size() * m_zoom}; }
    QRectF viewport() const noexcept { return {m_origin, m_size / m_zoom}; }
    /// The viewport without the lane headers.
    QRectF freeViewport() const noexcept { return viewport().adjusted(m_headerWidth / m_zoom, 0, 0, 0); }

    void panBy(QPointF pixels) { setOrigin(m_origin - pixels / m_zoom); }
    /// Zooms around `pixel`.
    void zoomAt(QPointF pixel, double zoom) {
        const QPointF fixed = toScene(pixel);
        m_zoom = std::clamp(zoom, kLeastZoom, kMostZoom);
        setOrigin(fixed - pixel / m_zoom);
    }
    void centerOn(QPointF at) {
        setOrigin(at - QPointF((m_size.width() + m_headerWidth) / 2, m_size.height() / 2) / m_zoom);
    }
    /// Shows all of `area`, at a zoom of at most `most`, above `foot` pixels that stay free. Aligned to the
    /// top left if there is room to spare.
    void fit(const QRectF& area, double most, double foot = 0) {
        constexpr double kMargin = 20;
        const double width = std::max(1.0, m_size.width() - m_headerWidth - 2 * kMargin);
        const double height = std::max(1.0, m_size.height() - foot);
        const double wanted =
            std::min({most, width / std::max(1.0, area.width()), height / std::max(1.0, area.height())});
        m_zoom = std::clamp(wanted, kLeastZoom, kMostZoom);
        setOrigin({area.left() - (m_headerWidth + kMargin) / m_zoom, area.top()});
    }
    /// Keeps a part of `content` visible.
    void keepInSight(const QRectF& content) {
        constexpr double kLeast = 96;
        const QPointF before = m_origin;
        const double right = content.right() - (m_headerWidth + kLeast) / m_zoom;
        const double left = content.left() - (m_size.width() - kLeast) / m_zoom;
        const double bottom = content.bottom() - kLeast / m_zoom;
        const double top = content.top() - (m_size.height() - kLeast) / m_zoom;
        const QPointF kept(std::clamp(before.x(), std::min(left, right), std::max(left, right)),
                           std::clamp(before.y(), std::min(top, bottom), std::max(top, bottom)));
        if (kept != before) setOrigin(kept);
    }

private:
    /// Aligned to device pixels, so that lines stay sharp while the canvas moves.
    void setOrigin(QPointF origin) {
        const double scale = m_zoom * m_pixelRatio;
        m_origin = {std::round(origin.x() * scale) / scale, std::round(origin.y() * scale) / scale};
    }

    QSizeF m_size;
    double m_pixelRatio = 1;
    double m_headerWidth = 0;
    double m_zoom = 1;
    QPointF m_origin;
};

} // namespace twb
