#pragma once

#include <QPoint>
#include <QString>
#include <QWidget>

#include <functional>

namespace twb {

/// A handle in the upper right corner of a plot: dragged into another program, it takes the plot there as a
/// PNG, both as an image and as a file. A drag with Alt anywhere in the plot does the same.
class PictureDrag : public QWidget {
    Q_OBJECT

public:
    /// `write` draws the plot into a .png of that path; false: there is nothing to take along. `name` is what
    /// the file is called, without an ending.
    PictureDrag(QWidget& plot, const QString& name, std::function<bool(const QString& path)> write);
    QSize sizeHint() const override { return {20, 20}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();
    void start();

    QString m_name;
    std::function<bool(const QString&)> m_write;
    QPoint m_pressed;
    bool m_isPressed = false; ///< in the plot, with Alt
    int m_count = 0;          ///< of files so far: one may still be read
};

} // namespace twb
