#pragma once

#include "widgets/canvas/paint_canvas.h"

#include <QObject>

class QDropEvent;

namespace twb {

class CanvasWidget;

/// Drops of ops from the palette on the canvas.
class PaletteDrops : public QObject {
    Q_OBJECT

public:
    explicit PaletteDrops(CanvasWidget& canvas);

    /// Of the op that is being dragged; without a card if there is none.
    const Preview& preview() const noexcept { return m_preview; }
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void move(QDropEvent& event);
    void drop(QDropEvent& event);

    CanvasWidget& m_canvas;
    Preview m_preview;
};

} // namespace twb
