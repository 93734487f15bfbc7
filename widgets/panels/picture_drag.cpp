#include "widgets/panels/picture_drag.h"

#include "widgets/theme.h"

#include <QApplication>
#include <QDrag>
#include <QFile>
#include <QImage>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QPixmap>
#include <QTemporaryDir>
#include <QUrl>

namespace twb {
namespace {

constexpr int kMargin = 2;
constexpr int kThumbnail = 200; ///< its width, under the pointer

/// Files are kept until the program ends, since there is no notice when the other program has read them.
QString folder() {
    static const QTemporaryDir kept;
    return kept.path();
}

bool isPulled(QPoint from, QPoint to) {
    return (to - from).manhattanLength() >= QApplication::startDragDistance();
}

} // namespace

PictureDrag::PictureDrag(QWidget& plot, const QString& name, std::function<bool(const QString&)> write)
    : QWidget(&plot), m_name(name), m_write(std::move(write)) {
    setObjectName(QStringLiteral("pictureDrag"));
    setAccessibleName(tr("Drag handle of the plot"));
    setToolTip(
        tr("Drags the plot as an image into another program. Alt and a drag of the plot do the same."));
    setCursor(Qt::OpenHandCursor);
    resize(sizeHint());
    plot.installEventFilter(this);
    place();
}

void PictureDrag::place() {
    move(parentWidget()->width() - width() - kMargin, kMargin);
    raise();
}

void PictureDrag::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(underMouse() ? theme.text : theme.secondaryText);
    const QPointF middle = QRectF(rect()).center();
    for (const double y : {-4.5, 0.0, 4.5})
        for (const double x : {-2.5, 2.5}) painter.drawEllipse(middle + QPointF(x, y), 1.3, 1.3);
}

void PictureDrag::enterEvent(QEnterEvent*) { update(); }
void PictureDrag::leaveEvent(QEvent*) { update(); }

void PictureDrag::mousePressEvent(QMouseEvent* event) { m_pressed = event->position().toPoint(); }

void PictureDrag::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton && isPulled(m_pressed, event->position().toPoint())) start();
}

bool PictureDrag::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) place();
    if (event->type() == QEvent::MouseButtonPress) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        m_isPressed = mouse->button() == Qt::LeftButton && mouse->modifiers() & Qt::AltModifier;
        m_pressed = mouse->position().toPoint();
        return m_isPressed; // otherwise the plot would scroll
    }
    if (event->type() == QEvent::MouseMove && m_isPressed) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (isPulled(m_pressed, mouse->position().toPoint())) {
            m_isPressed = false;
            start();
        }
        return true;
    }
    if (event->type() == QEvent::MouseButtonRelease && std::exchange(m_isPressed, false)) return true;
    return QWidget::eventFilter(watched, event);
}

void PictureDrag::start() {
    const QString number = m_count++ == 0 ? QString() : QStringLiteral("-%1").arg(m_count);
    const QString path = QStringLiteral("%1/%2%3.png").arg(folder(), m_name, number);
    QFile file(path);
    if (!m_write(path) || !file.open(QIODevice::ReadOnly)) return;
    const QByteArray png = file.readAll();
    const QImage image = QImage::fromData(png, "PNG");
    if (image.isNull()) return;
    auto* data = new QMimeData;
    data->setImageData(image);
    data->setData(QStringLiteral("image/png"), png);
    data->setUrls({QUrl::fromLocalFile(path)});
    auto* drag = new QDrag(this); // deletes itself
    drag->setMimeData(data);
    drag->setPixmap(QPixmap::fromImage(image.scaledToWidth(kThumbnail, Qt::SmoothTransformation)));
    drag->exec(Qt::CopyAction);
}

} // namespace twb
