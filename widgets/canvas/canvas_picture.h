#pragma once

#include "widgets/canvas/paint_canvas.h"

#include <QImage>

namespace twb {

/// A picture of the whole graph, for files, printers and the start page.
class CanvasPicture {
public:
    /// Everything must outlive the picture. Of `state`, what belongs to the pointer and to the selection is
    /// left out.
    CanvasPicture(Scene& scene, const SceneSource& source, const PaintState& state);

    /// The size at 100 %.
    QSizeF size() const;
    /// With `scale` pixels per canvas unit, at most 16,384 pixels per side.
    QImage image(double scale) const;
    /// Fits the picture into `target`, for SVG and PDF.
    void paint(QPainter& painter, const QRectF& target) const;

private:
    Scene& m_scene;
    SceneSource m_source;
    PaintState m_state;
    QRectF m_extent; ///< of the canvas, without the headers of the lanes
};

} // namespace twb
