#include "widgets/icon.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QSvgRenderer>

#include <algorithm>

namespace twb {
namespace {

/// Draws the SVG at the requested size; a disabled icon is fainter.
class SvgEngine final : public QIconEngine {
public:
    explicit SvgEngine(QByteArray svg) : m_svg(std::move(svg)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        QSvgRenderer renderer(m_svg);
        painter->save();
        if (mode == QIcon::Disabled) painter->setOpacity(0.4);
        // Square, at the left: a wider icon size adds space before a button's text.
        const int side = std::min(rect.width(), rect.height());
        renderer.render(painter, QRectF(rect.left(), rect.top() + (rect.height() - side) / 2.0, side, side));
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap out(size);
        out.fill(Qt::transparent);
        QPainter painter(&out);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return out;
    }
    QIconEngine* clone() const override { return new SvgEngine(m_svg); }

private:
    QByteArray m_svg;
};

} // namespace

QIcon icon(const QString& name, const QColor& color) {
    QFile file(QStringLiteral(":/twb/icons/%1.svg").arg(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    QByteArray svg = file.readAll();
    svg.replace("currentColor", color.name().toLatin1());
    return QIcon(new SvgEngine(std::move(svg)));
}

QIcon categoryIcon(const QString& category, const QColor& color) {
    return icon(category.toLower().replace(QLatin1Char(' '), QLatin1Char('-')), color);
}

} // namespace twb
