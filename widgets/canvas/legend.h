#pragma once

#include <QWidget>

namespace twb {

/// Explains the lines, rings and hatchings of the canvas, in its bottom left corner; in several columns if
/// the canvas is low. Ignores the mouse.
class Legend : public QWidget {
    Q_OBJECT

public:
    explicit Legend(QWidget* canvas);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();
    int rowsInColumn() const;
};

} // namespace twb
