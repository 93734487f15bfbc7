#include "widgets/panels/export_plot.h"

#include "widgets/labels.h"
#include "widgets/panels/series_mark.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/theme.h"

#include <QFileInfo>
#include <QImage>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>

namespace twb {
namespace {

constexpr QSize kPlot{960, 420};
constexpr int kTitle = 48;   ///< its height
constexpr int kLegend = 320; ///< its width
constexpr int kEntry = 24;
constexpr double kPngScale = 2;

QSize sizeWith(const std::vector<LegendEntry>& legend) {
    const int entries = (int(legend.size()) + 1) * kEntry;
    return {kPlot.width() + kLegend, kTitle + std::max(kPlot.height(), entries)};
}

void paintLegend(QPainter& painter, const std::vector<LegendEntry>& legend, const QRect& room) {
    const Theme& theme = Theme::current();
    QRect line(room.left(), room.top(), room.width(), kEntry);
    painter.setFont(twb::font(TextRole::small));
    for (const LegendEntry& entry : legend) {
        painter.setPen(QPen(theme.panel, 1));
        painter.setBrush(entry.color);
        const QPointF at(line.left() + 6, line.center().y());
        painter.translate(at);
        painter.drawPath(entry.mark);
        painter.translate(-at);
        painter.setPen(theme.text);
        drawElided(painter, line.adjusted(20, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, entry.text,
                   Qt::ElideMiddle);
        line.translate(0, kEntry);
    }
}

bool paint(QPaintDevice& device, QCustomPlot& plot, const std::vector<LegendEntry>& legend,
           const QString& title) {
    const Theme& theme = Theme::current();
    QCPPainter painter;
    if (!painter.begin(&device)) return false;
    const QRect page(QPoint(), sizeWith(legend));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(page, theme.panel);
    painter.setFont(twb::font(TextRole::panelTitle));
    painter.setPen(theme.text);
    drawElided(painter, QRect(16, 0, page.width() - 32, kTitle), Qt::AlignLeft | Qt::AlignVCenter, title);
    paintLegend(painter, legend, {kPlot.width() + 8, kTitle + 20, kLegend - 24, page.height() - kTitle});
    painter.translate(0, kTitle);
    painter.setMode(QCPPainter::pmVectorized);
    plot.toPainter(&painter, kPlot.width(), kPlot.height());
    return painter.end();
}

} // namespace

bool exportPlot(QCustomPlot& plot, const std::vector<LegendEntry>& legend, const QString& title,
                const QString& path) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    const QSize size = sizeWith(legend);
    const QString ending = QFileInfo(path).suffix().toLower();
    bool isWritten = false;
    if (ending == QLatin1String("png")) {
        QImage image(size * kPngScale, QImage::Format_RGB32);
        image.setDevicePixelRatio(kPngScale);
        isWritten = paint(image, plot, legend, title) && image.save(&file, "PNG");
    } else if (ending == QLatin1String("svg")) {
        QSvgGenerator svg;
        svg.setOutputDevice(&file);
        svg.setResolution(96);
        svg.setSize(size);
        svg.setViewBox(QRect(QPoint(), size));
        svg.setTitle(title);
        isWritten = paint(svg, plot, legend, title);
    }
    return isWritten && file.commit();
}

bool exportPlot(TransferPlot& plot, const QString& title, const QString& path) {
    std::vector<LegendEntry> legend;
    for (const TransferPlot::LegendEntry& entry : plot.legendEntries()) {
        legend.push_back({QStringLiteral("%1 · %2").arg(entry.name, plot.timesOf(entry)),
                          Theme::current().series(entry.row), seriesMark(entry.row)});
    }
    return exportPlot(plot, legend, title, path);
}

} // namespace twb
