#pragma once

#include <QObject>

class QKeyEvent;

namespace twb {

class CanvasWidget;

/// The keys of the canvas, and whether it shows that it has the focus.
class CanvasKeys : public QObject {
    Q_OBJECT

public:
    explicit CanvasKeys(CanvasWidget& canvas);

    /// After a move of the focus by a key.
    bool showsFocus() const noexcept { return m_showsFocus; }
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool press(const QKeyEvent& event);

    CanvasWidget& m_canvas;
    bool m_showsFocus = false;
};

} // namespace twb
