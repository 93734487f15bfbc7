#pragma once

#include <QPoint>
#include <QString>
#include <QWidget>

#include <functional>

namespace twb {

/// A handle in the upper right corner of a plot: dragged into another program, it provides the plot as an
/// image and as a PNG file. A drag with Alt anywhere in the plot does the same.
class PictureDrag : public QWidget {
    Q_OBJECT

public:
    /// `write` renders the plot to a .png file; false if there is nothing to export. `name` is the file name
    /// without extension.
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
    int m_count = 0;          ///< number of files so far; one may still be in use
};

} // namespace twb
