#pragma once

#include <QWidget>

namespace twb {

/// What lines, rings and hatchings of the canvas mean, in its lower left corner. Lets the mouse through.
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
};

} // namespace twb
