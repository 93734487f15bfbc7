#pragma once

#include "widgets/canvas/scene.h"

#include <QPixmap>
#include <QWidget>

namespace twb {

class CanvasWidget;

/// An overview of the graph in a corner of the canvas, with a frame around the visible part. A click or drag
/// scrolls the canvas.
class Minimap : public QWidget {
    Q_OBJECT

public:
    Minimap(CanvasWidget& canvas, const Scene& scene);

    void setWanted(bool isWanted);
    /// Moves the map to a corner of the canvas with nothing below it that matters. It is hidden if there is
    /// none: if it would cover a note, or a part of a graph that fits the view.
    void place();
    void sceneMayHaveChanged();
    QSize sizeHint() const override { return {164, 104}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void render();
    QRectF mapRect() const; ///< where the map is drawn, in pixels
    /// Without covering a note, or a part of a graph that is in view as a whole.
    bool mayStandAt(const QRect& place) const;

    CanvasWidget& m_canvas;
    const Scene& m_scene;
    QPixmap m_map;
    QRectF m_shown; ///< of the canvas, by the map
    double m_zoom = 1;
    bool m_isWanted = true;
    std::uint64_t m_version = ~std::uint64_t{0};
};

} // namespace twb
