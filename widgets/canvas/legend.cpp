#include "widgets/canvas/legend.h"

#include "widgets/canvas/paint_parts.h"
#include "widgets/theme.h"

#include <QEvent>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace twb {
namespace {

constexpr double kPadding = 12;
constexpr double kRow = 20;
constexpr double kSample = 44;
constexpr double kEntryGap = 10;
constexpr int kMargin = 14; ///< distance to the canvas's edge

struct Row {
    QString text;
    std::function<void(QPainter&, const Theme&, const QRectF&)> sample;
};

void drawLine(QPainter& painter, const QRectF& room, const QColor& color, double width,
              const QList<qreal>& dashes = {}) {
    QPen pen(color, width, Qt::SolidLine, Qt::RoundCap);
    if (!dashes.isEmpty()) {
        pen.setDashPattern(dashes);
        pen.setCapStyle(Qt::FlatCap);
    }
    painter.setPen(pen);
    painter.drawLine(QPointF(room.left() + 2, room.center().y()),
                     QPointF(room.right() - 2, room.center().y()));
}

void drawRing(QPainter& painter, const Theme& theme, QPointF at, const QColor& rim, bool isMarked) {
    painter.setPen(QPen(rim, 1.5));
    painter.setBrush(theme.raised);
    painter.drawEllipse(at, metrics::portRadius, metrics::portRadius);
    if (!isMarked) return;
    painter.setPen(Qt::NoPen);
    painter.setBrush(rim);
    painter.drawEllipse(at, 1.7, 1.7);
}

/// A wire that grows thicker from left to right.
void drawWedge(QPainter& painter, const Theme& theme, const QRectF& room) {
    QPainterPath wedge;
    const double y = room.center().y();
    wedge.moveTo(room.left() + 2, y - 0.7);
    wedge.lineTo(room.right() - 2, y - 2);
    wedge.lineTo(room.right() - 2, y + 2);
    wedge.lineTo(room.left() + 2, y + 0.7);
    painter.fillPath(wedge, theme.floatWire);
}

const std::vector<Row>& rows() {
    static const std::vector<Row> all{
        {Legend::tr("floating point"),
         [](QPainter& p, const Theme& t, const QRectF& r) { drawLine(p, r, t.floatWire, 2); }},
        {Legend::tr("integers"),
         [](QPainter& p, const Theme& t, const QRectF& r) { drawLine(p, r, t.integerWire, 2); }},
        {Legend::tr("bool"),
         [](QPainter& p, const Theme& t, const QRectF& r) { drawLine(p, r, t.boolWire, 2); }},
        {Legend::tr("type unknown"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             drawLine(p, r, withAlpha(t.secondaryText, 0.7), 2);
         }},
        {Legend::tr("thickness: bytes"), drawWedge},
        {Legend::tr("strokes: dimensions"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             drawLine(p, r, t.floatWire, 2);
             paintRank(p, {r.right() + 2, r.center().y()}, {1, 0}, 3, t.floatWire);
         }},
        {Legend::tr("scalar (0-dimensional)"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             QPen pen(t.floatWire, 2, Qt::SolidLine, Qt::RoundCap);
             pen.setDashPattern({0.1, kDotGap});
             p.setPen(pen);
             p.drawLine(QPointF(r.left() + 3, r.center().y()), QPointF(r.right() - 2, r.center().y()));
         }},
        {Legend::tr("dot on a wire"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             drawLine(p, r, t.floatWire, 2);
             p.setPen(Qt::NoPen);
             p.setBrush(t.floatWire);
             p.drawEllipse(r.center(), kDotRadius, kDotRadius);
         }},
        {Legend::tr("mismatch (see Problems)"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             drawLine(p, r, t.error, 2, {3.4, 2.8});
         }},
        {Legend::tr("copied by a To"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             p.setPen(QPen(t.device(Device::cuda(0)), 1.6));
             p.setBrush(t.raised);
             p.drawRoundedRect(r.adjusted(4, 4, -4, -4), 6, 6);
         }},
        {Legend::tr("copied by the policy"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             QPen pen(t.device(Device::cuda(0)), 1.5);
             pen.setDashPattern({3.2, 2.6});
             p.setPen(pen);
             p.setBrush(t.panel);
             p.drawRoundedRect(r.adjusted(4, 4, -4, -4), 6, 6);
         }},
        {Legend::tr("number of wires to a collapsed lane"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             const QRectF stub(r.center().x() - 14, r.center().y() - 8, 28, 16);
             p.setPen(QPen(t.device(Device::cuda(0)), 1.3));
             p.setBrush(t.raised);
             p.drawRoundedRect(stub, 8, 8);
             p.setPen(t.text);
             p.drawText(stub, Qt::AlignCenter, QStringLiteral("3"));
         }},
        {Legend::tr("required input"),
         [](QPainter& p, const Theme& t, const QRectF& r) { drawRing(p, t, r.center(), t.error, true); }},
        {Legend::tr("optional input"),
         [](QPainter& p, const Theme& t, const QRectF& r) {
             drawRing(p, t, r.center(), t.secondaryText, false);
         }},
    };
    return all;
}

/// The left edges of the columns, and the right edge of the last one.
std::vector<double> edgesOf(int rowsInColumn) {
    const QFontMetricsF metrics(twb::font(TextRole::small));
    std::vector<double> edges{kPadding};
    double widest = 0;
    for (int i = 0; i < int(rows().size()); ++i) {
        widest = std::max(widest, std::ceil(metrics.horizontalAdvance(rows()[std::size_t(i)].text)) + 1);
        const bool isLast = (i + 1) % rowsInColumn == 0 || i + 1 == int(rows().size());
        if (!isLast) continue;
        edges.push_back(edges.back() + kSample + kEntryGap + widest + kPadding);
        widest = 0;
    }
    return edges;
}

} // namespace

Legend::Legend(QWidget* canvas) : QWidget(canvas) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setObjectName(QStringLiteral("legend"));
    QStringList texts;
    for (const Row& row : rows()) texts << row.text;
    setAccessibleName(tr("Legend"));
    setAccessibleDescription(texts.join(QStringLiteral("; ")));
    canvas->installEventFilter(this);
    hide();
}

/// As few columns as possible, of equal heights.
int Legend::rowsInColumn() const {
    const int count = int(rows().size());
    const double room = parentWidget()->height() - 2 * (kMargin + kPadding);
    const int most = std::clamp(int(room / kRow), 1, count);
    const int columns = (count + most - 1) / most;
    return (count + columns - 1) / columns;
}

QSize Legend::sizeHint() const {
    const int inColumn = rowsInColumn();
    return QSizeF(edgesOf(inColumn).back(), 2 * kPadding + kRow * inColumn).toSize();
}

void Legend::place() {
    const QSize size = sizeHint();
    const int room = parentWidget()->width() - size.width() - kMargin;
    const int left =
        std::min(int(headerWidthFor(parentWidget()->width())) + kMargin, std::max(kMargin, room));
    setGeometry(QRect(QPoint(left, parentWidget()->height() - size.height() - kMargin), size));
    raise();
}

void Legend::showEvent(QShowEvent*) { place(); }

bool Legend::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && isVisible()) place();
    return QWidget::eventFilter(watched, event);
}

void Legend::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), metrics::cardRadius,
                            metrics::cardRadius);
    painter.setFont(twb::font(TextRole::small));
    const int inColumn = rowsInColumn();
    const std::vector<double> edges = edgesOf(inColumn);
    for (int i = 0; i < int(rows().size()); ++i) {
        const Row& row = rows()[std::size_t(i)];
        const double x = edges[std::size_t(i / inColumn)];
        const double y = kPadding + i % inColumn * kRow;
        row.sample(painter, theme, QRectF(x, y, kSample, kRow));
        painter.setPen(theme.text);
        painter.drawText(QRectF(x + kSample + kEntryGap, y, width(), kRow), Qt::AlignVCenter | Qt::AlignLeft,
                         row.text);
    }
}

} // namespace twb
