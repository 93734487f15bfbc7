#include "widgets/panels/memory_bars.h"

#include "core/format.h"
#include "widgets/labels.h"
#include "widgets/panels/plot_table.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr int kRowHeight = 60;
constexpr int kBarHeight = 8;
constexpr int kTicks = 3;

/// 1, 2 or 5 times a power of ten, not below `step`.
double roundStep(double step) {
    const double power = std::pow(10.0, std::floor(std::log10(std::max(step, 1.0))));
    for (const double digit : {1.0, 2.0, 5.0})
        if (digit * power >= step) return digit * power;
    return 10 * power;
}

} // namespace

MemoryBars::MemoryBars(QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("memoryBars"));
    setAccessibleName(tr("Memory of each device"));
    setFocusPolicy(Qt::StrongFocus);
    new PlotTable(*this, [this] { return values(); });
}

PlotValues MemoryBars::values() const {
    PlotValues out;
    out.title = accessibleName();
    out.columns = {{"device", tr("device")},
                   {"name", tr("hardware")},
                   {"planned_bytes", tr("planned, bytes")},
                   {"peak_bytes", tr("peak, bytes")},
                   {"capacity_bytes", tr("capacity, bytes")}};
    out.rows = int(m_rows.size());
    out.at = [rows = m_rows](int row, int column) -> QVariant {
        const Row& device = rows[std::size_t(row)];
        if (column == 0) return toQt(device.device.toString());
        if (column == 1) return device.name;
        if (column == 3 && device.peak == 0) return {}; // not known yet
        return qlonglong(column == 2 ? device.planned : column == 3 ? device.peak : device.total);
    };
    return out;
}

void MemoryBars::setRows(std::vector<Row> rows) {
    // Selects the first GPU, since the host usually has plenty of memory.
    if (rows.size() != m_rows.size()) {
        const auto gpu =
            std::find_if(rows.begin(), rows.end(), [](const Row& row) { return !row.device.isCpu(); });
        m_chosen = gpu == rows.end() ? 0 : int(gpu - rows.begin());
    }
    m_rows = std::move(rows);
    QStringList said;
    for (const Row& row : m_rows)
        said << tr("%1: planned %2, peak %3")
                    .arg(toQt(row.device.toString()), localized(formatBytes(double(row.planned))),
                         localized(formatBytes(double(row.peak))));
    setAccessibleDescription(said.join(QStringLiteral("; ")));
    update();
}

QRect MemoryBars::rectOf(int row) const { return {0, row * kRowHeight, width(), kRowHeight}; }

void MemoryBars::choose(int row) {
    if (row < 0 || row >= int(m_rows.size()) || row == m_chosen) return;
    m_chosen = row;
    update();
    Q_EMIT rowChosen(row);
}

void MemoryBars::mousePressEvent(QMouseEvent* event) { choose(int(event->position().y()) / kRowHeight); }

void MemoryBars::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Up)
        choose(m_chosen - 1);
    else if (event->key() == Qt::Key_Down)
        choose(m_chosen + 1);
    else
        QWidget::keyPressEvent(event);
}

/// The bars have one scale, set by the device with the highest peak; relative to 141 GB they would be
/// invisible.
void MemoryBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    double most = 1;
    for (const Row& row : m_rows) most = std::max(most, double(std::max(row.planned, row.peak)));
    const double step = roundStep(most / kTicks);
    const double scale = step * std::ceil(most / step);
    for (int row = 0; row < int(m_rows.size()); ++row) paintRow(painter, row, scale);
    paintScale(painter, step, scale);
}

void MemoryBars::paintScale(QPainter& painter, double step, double scale) const {
    const Theme& theme = Theme::current();
    const QRect box = rectOf(int(m_rows.size()));
    painter.setFont(twb::font(TextRole::smallFigure));
    painter.setPen(theme.secondaryText);
    for (int tick = 0; tick * step <= scale * 1.0001; ++tick) {
        const QString bytes = localized(formatBytes(tick * step));
        const double width = painter.fontMetrics().horizontalAdvance(bytes);
        const double x = 12 + (box.width() - 24) * tick * step / scale;
        painter.drawText(QPointF(std::clamp(x - width / 2, 12.0, box.width() - 12 - width), box.top() + 16),
                         bytes);
    }
    painter.setFont(twb::font(TextRole::small));
    drawElided(painter, QRect(12, box.top() + 22, box.width() - 24, 18), Qt::AlignLeft | Qt::AlignVCenter,
               tr("Bar: peak of the run. Mark: planned."));
}

void MemoryBars::paintRow(QPainter& painter, int number, double scale) const {
    const Theme& theme = Theme::current();
    const Row& row = m_rows[std::size_t(number)];
    const QRect box = rectOf(number);
    if (number == m_chosen && m_rows.size() > 1) painter.fillRect(box.adjusted(0, 0, 0, -2), selectionWash());
    if (number == m_chosen && hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0, 0, -1, -3));
    }
    const QRect line = box.adjusted(12, 2, -12, 0);
    painter.setFont(twb::font(TextRole::strong));
    painter.setPen(theme.deviceInk(row.device));
    const QString device = toQt(row.device.toString());
    painter.drawText(QRect(line.left(), line.top(), line.width(), 20), Qt::AlignLeft | Qt::AlignVCenter,
                     device);
    const int after = painter.fontMetrics().horizontalAdvance(device) + 12;
    painter.setFont(twb::font(TextRole::body));
    painter.setPen(theme.secondaryText);
    drawElided(painter, QRect(line.left() + after, line.top(), line.width() - after, 20),
               Qt::AlignLeft | Qt::AlignVCenter, row.name);

    const QRectF bar(line.left(), box.top() + 24, line.width(), kBarHeight);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.border);
    painter.drawRoundedRect(bar, kBarHeight / 2.0, kBarHeight / 2.0);
    const auto share = [&](std::size_t bytes) {
        return bytes == 0 ? 0.0 : std::max(double(kBarHeight), bar.width() * double(bytes) / scale);
    };
    painter.setBrush(theme.device(row.device));
    painter.drawRoundedRect(QRectF(bar.topLeft(), QSizeF(share(row.peak), kBarHeight)), kBarHeight / 2.0,
                            kBarHeight / 2.0);
    if (row.planned > 0) {
        painter.setPen(QPen(theme.text, 2));
        const double x = bar.left() + std::min(bar.width() - 1, share(row.planned));
        painter.drawLine(QPointF(x, bar.top() - 3), QPointF(x, bar.bottom() + 3));
    }
    painter.setFont(twb::font(TextRole::small));
    painter.setPen(theme.text);
    QStringList said{tr("planned %1").arg(localized(formatBytes(double(row.planned))))};
    if (row.peak > 0) said << tr("peak %1").arg(localized(formatBytes(double(row.peak)))); // after a run
    said << tr("of %1").arg(localized(formatBytes(double(row.total))));
    drawElided(painter, QRect(line.left(), box.top() + 36, line.width(), 18),
               Qt::AlignLeft | Qt::AlignVCenter, said.join(QStringLiteral(" · ")));
}

} // namespace twb
