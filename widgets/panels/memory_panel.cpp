#include "widgets/panels/memory_panel.h"

#include "profile/report.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr int kMargin = 16;
constexpr int kRowHeight = 56;
constexpr int kBarHeight = 8;
constexpr int kTicks = 4;

/// 1, 2 or 5 times a power of ten, not below `step`.
double roundStep(double step) {
    const double power = std::pow(10.0, std::floor(std::log10(std::max(step, 1.0))));
    for (const double digit : {1.0, 2.0, 5.0})
        if (digit * power >= step) return digit * power;
    return 10 * power;
}

} // namespace

MemoryPanel::MemoryPanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs) {
    setAccessibleName(tr("Memory of each device"));
    connect(&m_runs, &RunController::frame, this, &MemoryPanel::refresh);
    connect(&m_runs, &RunController::stateChanged, this, &MemoryPanel::refresh);
}

void MemoryPanel::refresh() {
    if (!isVisible()) return;
    m_rows.clear();
    const RunFigures* figures = m_runs.figures();
    const DeviceMap& devices = figures ? figures->plan().devices : m_document.devices();
    QStringList said;
    for (const Device device : devices.devices()) {
        Backend* backend = devices.find(device);
        Row row;
        row.device = device;
        row.name = toQt(backend->info().name);
        row.total = backend->info().memoryBytes;
        if (figures) row.planned = figures->plan().bytesOn(device);
        if (m_runs.result())
            for (const auto& [of, stats] : m_runs.result()->memory)
                if (of == device) row.peak = stats.peak;
        said << tr("%1: planned %2, used %3")
                    .arg(toQt(device.toString()), toQt(formatBytes(double(row.planned))),
                         toQt(formatBytes(double(row.peak))));
        m_rows.push_back(std::move(row));
    }
    setAccessibleDescription(said.join(QStringLiteral("; ")));
    update();
}

void MemoryPanel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_runs.figures()) {
        painter.setPen(Theme::current().secondaryText);
        painter.drawText(rect(), Qt::AlignCenter, tr("Run the graph to see what it needs on each device."));
        return;
    }
    double most = 1;
    for (const Row& row : m_rows) most = std::max(most, double(std::max(row.planned, row.peak)));
    const double step = roundStep(most / kTicks);
    const double scale = step * std::ceil(most / step);
    QRectF box(kMargin, 8, width() - 2 * kMargin, kRowHeight);
    paintScale(painter, QRectF(box.topLeft(), QSizeF(box.width(), kRowHeight * double(m_rows.size()))), step,
               scale);
    for (const Row& row : m_rows) {
        paintRow(painter, row, box, scale);
        box.translate(0, kRowHeight);
    }
}

void MemoryPanel::paintScale(QPainter& painter, const QRectF& box, double step, double scale) const {
    const Theme& theme = Theme::current();
    painter.setFont(twb::font(TextRole::smallFigure));
    for (int tick = 0; tick * step <= scale * 1.0001; ++tick) {
        const double x = box.left() + (box.width() - 1) * tick * step / scale;
        painter.setPen(QPen(theme.border, 1));
        painter.drawLine(QPointF(x, box.top() + 28), QPointF(x, box.bottom() - 8));
        painter.setPen(theme.secondaryText);
        const QString bytes = toQt(formatBytes(tick * step));
        const double width = painter.fontMetrics().horizontalAdvance(bytes);
        const double left = std::clamp(x - width / 2, box.left(), box.right() - width);
        painter.drawText(QPointF(left, box.bottom() + 4 + painter.fontMetrics().ascent() / 2.0), bytes);
    }
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(QRectF(box.left(), box.bottom() + 16, box.width(), 18), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("One scale for all devices. Bar: used at most. Mark: planned."));
}

/// The bars are to one scale, that of the fullest device's run: against 141 GB nothing would show.
void MemoryPanel::paintRow(QPainter& painter, const Row& row, const QRectF& box, double scale) const {
    const Theme& theme = Theme::current();
    const QColor color = theme.device(row.device);
    painter.setFont(twb::font(TextRole::strong));
    painter.setPen(color);
    const QString device = toQt(row.device.toString());
    painter.drawText(QRectF(box.left(), box.top() + 4, box.width(), 20), Qt::AlignLeft | Qt::AlignVCenter,
                     device);
    const double after = painter.fontMetrics().horizontalAdvance(device) + 12;
    painter.setFont(twb::font(TextRole::body));
    painter.setPen(theme.secondaryText);
    painter.drawText(QRectF(box.left() + after, box.top() + 4, box.width() / 2, 20),
                     Qt::AlignLeft | Qt::AlignVCenter, row.name);
    painter.setFont(twb::font(TextRole::figure));
    painter.setPen(theme.text);
    const QString used = row.peak > 0 ? toQt(formatBytes(double(row.peak))) : QStringLiteral("–");
    painter.drawText(
        QRectF(box.left(), box.top() + 4, box.width(), 20), Qt::AlignRight | Qt::AlignVCenter,
        tr("planned %1   used at most %2   of %3")
            .arg(toQt(formatBytes(double(row.planned))), used, toQt(formatBytes(double(row.total)))));

    const QRectF bar(box.left(), box.top() + 30, box.width(), kBarHeight);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.border);
    painter.drawRoundedRect(bar, kBarHeight / 2.0, kBarHeight / 2.0);
    const auto share = [&](std::size_t bytes) {
        return bytes == 0 ? 0.0 : std::max(double(kBarHeight), bar.width() * double(bytes) / scale);
    };
    painter.setBrush(color);
    painter.drawRoundedRect(QRectF(bar.topLeft(), QSizeF(share(row.peak), kBarHeight)), kBarHeight / 2.0,
                            kBarHeight / 2.0);
    if (row.planned == 0) return;
    painter.setPen(QPen(theme.text, 2));
    const double x = bar.left() + std::min(bar.width() - 1, share(row.planned));
    painter.drawLine(QPointF(x, bar.top() - 3), QPointF(x, bar.bottom() + 3));
}

void MemoryPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
