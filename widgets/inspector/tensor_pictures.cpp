#include "widgets/inspector/tensor_pictures.h"

#include "widgets/inspector/tensor_table_model.h"
#include "widgets/plain_text.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QHelpEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// The maximum number of cells per direction, and of elements sampled per cell.
constexpr std::int64_t kCells = 256;
constexpr std::int64_t kBlock = 8;
constexpr int kLeastPicture = 136; ///< px

QRgb blend(const QColor& low, const QColor& high, double share) {
    const auto channel = [share](int a, int b) { return int(std::lround(a + (b - a) * share)); };
    return qRgb(channel(low.red(), high.red()), channel(low.green(), high.green()),
                channel(low.blue(), high.blue()));
}

constexpr int kScaleGap = 6;
constexpr int kScaleBar = 8;

QColor coldEnd(const Theme& theme) { return theme.isDark ? theme.raised : theme.window; }

} // namespace

int colorScaleHeight() {
    return kScaleGap + kScaleBar + 2 + QFontMetrics(twb::font(TextRole::smallFigure)).height();
}

void paintColorScale(QPainter& painter, const QRect& area, const QColor& low, const QColor& high,
                     double least, double most) {
    const Theme& theme = Theme::current();
    const QRectF bar(area.left() + 0.5, area.bottom() + 1 - colorScaleHeight() + kScaleGap + 0.5,
                     area.width() - 1, kScaleBar);
    QLinearGradient ramp(bar.topLeft(), bar.topRight());
    ramp.setColorAt(0, low);
    ramp.setColorAt(1, high);
    painter.setPen(theme.border);
    painter.setBrush(ramp);
    painter.drawRect(bar);
    painter.setFont(twb::font(TextRole::smallFigure));
    painter.setPen(theme.secondaryText);
    const QRectF figures(area.left(), bar.bottom() + 2, area.width(), area.bottom() + 1 - bar.bottom() - 2);
    painter.drawText(figures, Qt::AlignLeft | Qt::AlignVCenter, compact(least));
    if (most == least) return;
    painter.drawText(figures, Qt::AlignHCenter | Qt::AlignVCenter, compact(least + (most - least) / 2));
    painter.drawText(figures, Qt::AlignRight | Qt::AlignVCenter, compact(most));
}

HeatMap::HeatMap(const TensorTableModel& model, QWidget* parent) : QWidget(parent), m_model(model) {
    setAccessibleName(tr("Heat map"));
    setMinimumHeight(kLeastPicture + colorScaleHeight());
    connect(&model, &QAbstractItemModel::modelReset, this, qOverload<>(&QWidget::update));
    connect(&model, &QAbstractItemModel::dataChanged, this, qOverload<>(&QWidget::update));
}

QRect HeatMap::pictureRect() const { return rect().adjusted(0, 0, 0, -colorScaleHeight()); }

void HeatMap::setRange(double min, double max) {
    m_min = min;
    m_max = max;
    update();
}

QImage HeatMap::picture() const {
    const Theme& theme = Theme::current();
    const QSize room = pictureRect().size();
    const std::int64_t rows = std::min<std::int64_t>({m_model.rows(), kCells, std::max(1, room.height())});
    const std::int64_t columns =
        std::min<std::int64_t>({m_model.columns(), kCells, std::max(1, room.width())});
    QImage image(int(columns), int(rows), QImage::Format_RGB32);
    const double width = m_max - m_min;
    const QColor low = coldEnd(theme);
    for (std::int64_t y = 0; y < rows; ++y) {
        const std::int64_t top = y * m_model.rows() / rows;
        const std::int64_t bottom = std::max(top + 1, (y + 1) * m_model.rows() / rows);
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(int(y)));
        for (std::int64_t x = 0; x < columns; ++x) {
            const std::int64_t left = x * m_model.columns() / columns;
            const std::int64_t right = std::max(left + 1, (x + 1) * m_model.columns() / columns);
            const std::int64_t stepY = std::max<std::int64_t>(1, (bottom - top) / kBlock);
            const std::int64_t stepX = std::max<std::int64_t>(1, (right - left) / kBlock);
            double sum = 0;
            int count = 0;
            for (std::int64_t r = top; r < bottom; r += stepY)
                for (std::int64_t c = left; c < right; c += stepX) {
                    sum += m_model.valueAt(r, c);
                    ++count;
                }
            const double mean = sum / count;
            line[x] = std::isnan(mean)
                          ? theme.error.rgb()
                          : blend(low, theme.accent,
                                  width > 0 ? std::clamp((mean - m_min) / width, 0.0, 1.0) : 0.5);
        }
    }
    return image;
}

void HeatMap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (m_model.sliceCount() == 0) return;
    painter.drawImage(pictureRect(), picture());
    const Theme& theme = Theme::current();
    paintColorScale(painter, rect(), coldEnd(theme), theme.accent, m_min, m_max);
}

bool HeatMap::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || m_model.sliceCount() == 0) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QRect picture = pictureRect();
    if (!picture.contains(help->pos())) return QWidget::event(event);
    const std::int64_t row = help->pos().y() * m_model.rows() / picture.height();
    const std::int64_t column = help->pos().x() * m_model.columns() / picture.width();
    showTip(help->globalPos(), tr("[%1, %2] = %3").arg(row).arg(column).arg(m_model.textAt(row, column)),
            this);
    return true;
}

HistogramView::HistogramView(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Histogram"));
    setMinimumHeight(136);
}

void HistogramView::setStatistics(const TensorStatistics& statistics) {
    m_statistics = statistics;
    update();
}

void HistogramView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setFont(twb::font(TextRole::smallFigure));
    const int labels = painter.fontMetrics().height() + 4;
    const QRectF area = QRectF(rect()).adjusted(0, 4, 0, -labels);
    const std::int64_t most = *std::max_element(m_statistics.histogram.begin(), m_statistics.histogram.end());
    painter.setPen(theme.border);
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    if (most == 0) return;
    const double width = area.width() / TensorStatistics::kBins;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.accent);
    painter.setRenderHint(QPainter::Antialiasing);
    for (int i = 0; i < TensorStatistics::kBins; ++i) {
        const std::int64_t count = m_statistics.histogram[std::size_t(i)];
        if (count == 0) continue;
        const double height = std::max(1.0, area.height() * double(count) / double(most));
        painter.drawRect(
            QRectF(area.left() + i * width, area.bottom() - height, std::max(1.0, width - 1), height));
    }
    painter.setPen(theme.secondaryText);
    const QRect line(0, height() - labels + 2, this->width(), labels);
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, compact(m_statistics.min));
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, compact(m_statistics.max));
    painter.drawText(line, Qt::AlignHCenter | Qt::AlignVCenter, tr("largest bin: %1").arg(grouped(most)));
}

LineView::LineView(const TensorTableModel& model, QWidget* parent) : QWidget(parent), m_model(model) {
    setAccessibleName(tr("Line"));
    setMinimumHeight(136);
    connect(&model, &QAbstractItemModel::modelReset, this, qOverload<>(&QWidget::update));
    connect(&model, &QAbstractItemModel::dataChanged, this, qOverload<>(&QWidget::update));
}

void LineView::setRange(double min, double max) {
    m_min = min;
    m_max = max;
    update();
}

void LineView::paintEvent(QPaintEvent*) {
    const std::int64_t count = m_model.rows() * m_model.columns();
    if (m_model.sliceCount() == 0 || count == 0) return;
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setFont(twb::font(TextRole::smallFigure));
    const int labels = painter.fontMetrics().height() + 4;
    const QRectF area = QRectF(rect()).adjusted(0, 4, 0, -labels);
    const double span = m_max > m_min ? m_max - m_min : 1;
    const auto y = [&](double value) { return area.bottom() - (value - m_min) / span * area.height(); };
    painter.setPen(theme.border);
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    if (m_min < 0 && m_max > 0) painter.drawLine(QPointF(area.left(), y(0)), QPointF(area.right(), y(0)));
    const auto places = std::min<std::int64_t>(count, std::max(1, int(area.width())));
    QPolygonF line;
    for (std::int64_t i = 0; i < places; ++i) {
        const std::int64_t from = i * count / places;
        const std::int64_t to = std::max(from + 1, (i + 1) * count / places);
        const std::int64_t step = std::max<std::int64_t>(1, (to - from) / (kBlock * kBlock));
        double least = m_max;
        double most = m_min;
        for (std::int64_t k = from; k < to; k += step) {
            const double value = m_model.valueAt(k / m_model.columns(), k % m_model.columns());
            if (!std::isfinite(value)) continue;
            least = std::min(least, value);
            most = std::max(most, value);
        }
        if (least > most) continue; // nothing finite
        const double x = area.left() + (double(i) + 0.5) / double(places) * area.width();
        line << QPointF(x, y(most));
        if (most > least) line << QPointF(x, y(least));
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.accent, 1));
    painter.drawPolyline(line);
    painter.setPen(theme.secondaryText);
    const QRect text(0, height() - labels + 2, width(), labels);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("0"));
    painter.drawText(text, Qt::AlignRight | Qt::AlignVCenter, grouped(count - 1));
    painter.drawText(text, Qt::AlignHCenter | Qt::AlignVCenter,
                     tr("%1 to %2").arg(compact(m_min), compact(m_max)));
}

} // namespace twb
