#include "widgets/canvas/export_picture.h"

#include "widgets/canvas/canvas_widget.h"

#include <QFileInfo>
#include <QPageLayout>
#include <QPainter>
#include <QPdfWriter>
#include <QPrinter>
#include <QSaveFile>
#include <QSvgGenerator>

namespace twb {
namespace {

constexpr double kPngScale = 2;
constexpr int kPixelsPerInch = 96; ///< of a canvas unit at 100 %
constexpr double kPointsPerInch = 72;

bool writeSvg(CanvasWidget& canvas, QIODevice& file) {
    const QRectF page(QPointF(), canvas.picture().size());
    QSvgGenerator svg;
    svg.setOutputDevice(&file);
    svg.setResolution(kPixelsPerInch);
    svg.setSize(page.size().toSize());
    svg.setViewBox(page);
    svg.setTitle(canvas.accessibleName());
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    canvas.picture().paint(painter, page);
    return painter.end();
}

/// One page with the size of the picture.
bool writePdf(CanvasWidget& canvas, QIODevice& file) {
    const QSizeF size = canvas.picture().size();
    QPdfWriter pdf(&file);
    pdf.setResolution(kPixelsPerInch);
    pdf.setPageSize(
        QPageSize(size * (kPointsPerInch / kPixelsPerInch), QPageSize::Point, {}, QPageSize::ExactMatch));
    pdf.setPageMargins({});
    QPainter painter;
    if (!painter.begin(&pdf)) return false;
    canvas.picture().paint(painter, QRectF(QPointF(), size));
    return painter.end();
}

} // namespace

bool exportPicture(CanvasWidget& canvas, const QString& path) {
    const QString ending = QFileInfo(path).suffix().toLower();
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    bool isWritten = false;
    if (ending == QLatin1String("png"))
        isWritten = canvas.picture().image(kPngScale).save(&file, "PNG");
    else if (ending == QLatin1String("svg"))
        isWritten = writeSvg(canvas, file);
    else if (ending == QLatin1String("pdf"))
        isWritten = writePdf(canvas, file);
    return isWritten && file.commit();
}

bool printPicture(CanvasWidget& canvas, QPrinter& printer) {
    QPainter painter;
    if (!painter.begin(&printer)) return false;
    canvas.picture().paint(painter, QRectF(QPointF(), printer.pageRect(QPrinter::DevicePixel).size()));
    return painter.end();
}

} // namespace twb
