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
constexpr int kLegend = 280; ///< its width
constexpr int kEntry = 24;
constexpr double kPngScale = 2;

QSize sizeOf(const TransferPlot& plot) {
    const int entries = int(plot.legendEntries().size()) * kEntry + kEntry;
    return {kPlot.width() + kLegend, kTitle + std::max(kPlot.height(), entries)};
}

void paintLegend(QPainter& painter, const TransferPlot& plot, const QRect& room) {
    const Theme& theme = Theme::current();
    QRect line(room.left(), room.top(), room.width(), kEntry);
    painter.setFont(twb::font(TextRole::small));
    for (const TransferPlot::LegendEntry& entry : plot.legendEntries()) {
        painter.setPen(QPen(theme.panel, 1));
        painter.setBrush(theme.series(entry.row));
        const QPointF at(line.left() + 6, line.center().y());
        painter.translate(at);
        painter.drawPath(seriesMark(entry.row));
        painter.translate(-at);
        painter.setPen(theme.text);
        const QString times = entry.modelled ? TransferPlot::tr("modelled") : TransferPlot::tr("measured");
        drawElided(painter, line.adjusted(20, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   QStringLiteral("%1 · %2").arg(entry.name, times), Qt::ElideMiddle);
        line.translate(0, kEntry);
    }
}

bool paint(QPaintDevice& device, TransferPlot& plot, const QString& title) {
    const Theme& theme = Theme::current();
    QCPPainter painter;
    if (!painter.begin(&device)) return false;
    const QRect page(QPoint(), sizeOf(plot));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(page, theme.panel);
    painter.setFont(twb::font(TextRole::panelTitle));
    painter.setPen(theme.text);
    drawElided(painter, QRect(16, 0, page.width() - 32, kTitle), Qt::AlignLeft | Qt::AlignVCenter, title);
    paintLegend(painter, plot, {kPlot.width() + 8, kTitle + 20, kLegend - 24, page.height() - kTitle});
    painter.translate(0, kTitle);
    painter.setMode(QCPPainter::pmVectorized);
    plot.toPainter(&painter, kPlot.width(), kPlot.height());
    return painter.end();
}

} // namespace

bool exportPlot(TransferPlot& plot, const QString& title, const QString& path) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    const QString ending = QFileInfo(path).suffix().toLower();
    bool isWritten = false;
    if (ending == QLatin1String("png")) {
        QImage image(sizeOf(plot) * kPngScale, QImage::Format_RGB32);
        image.setDevicePixelRatio(kPngScale);
        isWritten = paint(image, plot, title) && image.save(&file, "PNG");
    } else if (ending == QLatin1String("svg")) {
        QSvgGenerator svg;
        svg.setOutputDevice(&file);
        svg.setResolution(96);
        svg.setSize(sizeOf(plot));
        svg.setViewBox(QRect(QPoint(), sizeOf(plot)));
        svg.setTitle(title);
        isWritten = paint(svg, plot, title);
    }
    return isWritten && file.commit();
}

} // namespace twb
