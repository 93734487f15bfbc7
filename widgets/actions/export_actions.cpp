#include "widgets/actions/export_actions.h"

#include "formats/onnx/onnx_export.h"
#include "formats/project.h"
#include "formats/pytorch/pytorch_export.h"
#include "profile/report.h"
#include "profile/report_page.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/ask_for_path.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/export_picture.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QDir>
#include <QFileInfo>
#include <QPrintDialog>
#include <QPrinter>

#include <filesystem>

namespace twb {

ExportActions::ExportActions(Document& document, const RunController& runs, CanvasWidget& canvas,
                             GraphEditor& editor, QWidget& window)
    : m_document(document), m_runs(runs), m_canvas(canvas), m_editor(editor), m_window(window) {}

void ExportActions::fill(QMenu& menu) {
    const auto add = [&](const QString& text, const char* keys, void (ExportActions::*act)()) {
        addAction(menu, text, QKeySequence(QLatin1String(keys)), [this, act] { (this->*act)(); });
    };
    add(tr("Export &image…"), "Ctrl+Shift+E", &ExportActions::exportImage);
    add(tr("Export for P&yTorch…"), "Ctrl+Alt+T", &ExportActions::exportTorch);
    add(tr("Export O&NNX model…"), "Ctrl+Alt+O", &ExportActions::exportModel);
    add(tr("Export r&eport…"), "Ctrl+Alt+R", &ExportActions::exportReport);
    add(tr("P&rint…"), "Ctrl+Alt+P", &ExportActions::print);
}

QString ExportActions::askForPath(const QString& title, const QStringList& filters) {
    const QString name = QFileInfo(m_document.title()).completeBaseName();
    const QString path = twb::askForPath(&m_window, title, QDir(m_document.folder()).filePath(name), filters);
    const bool mayWrite = path.isEmpty() || m_editor.attempt(title, [&] { m_document.checkTarget(path); });
    return mayWrite ? path : QString();
}

void ExportActions::exportTorch() {
    const QString path = askForPath(tr("Export for PyTorch"), {tr("Python modules (*.py)")});
    if (path.isEmpty()) return;
    const bool written = m_editor.attempt(tr("Cannot export the graph for PyTorch"), [&] {
        workWaiting(tr("Exporting…"), &m_window,
                    [&, graph = m_document.graph(), files = m_document.files(),
                     folder = m_document.folder().toStdString()] {
                        exportPyTorch(graph, files.get(), folder, path.toStdString());
                    });
    });
    if (written) m_editor.say(tr("Written to %1. Run it with python3.").arg(QDir::toNativeSeparators(path)));
}

void ExportActions::exportModel() {
    const QString path = askForPath(tr("Export an ONNX model"), {tr("ONNX models (*.onnx)")});
    if (path.isEmpty()) return;
    const bool written = m_editor.attempt(tr("Cannot export the graph as an ONNX model"), [&] {
        workWaiting(tr("Exporting…"), &m_window, [&, graph = m_document.graph(), files = m_document.files()] {
            exportOnnx(graph, files.get(), path.toStdString());
        });
    });
    if (written) m_editor.say(tr("Written to %1.").arg(QDir::toNativeSeparators(path)));
}

/// Writes the report of the last run: a .json file as `twb run --report` does, or the page that `twb report`
/// makes of it.
void ExportActions::exportReport() {
    const auto refuse = [this] {
        m_editor.showError(tr("Nothing to report yet"), tr("Run the graph first, then export its report."));
    };
    if (!m_runs.result()) return refuse();
    const QString path =
        askForPath(tr("Export the report"), {tr("HTML pages (*.html)"), tr("JSON reports (*.json)")});
    if (path.isEmpty()) return;
    const RunReport report = m_runs.report(); // a run may have started while the dialog was open
    if (!report.plan) return refuse();
    const bool written = m_editor.attempt(tr("Cannot write the report"), [&] {
        const OverlaidProfile* overlaid = m_runs.overlaid();
        const std::string json =
            overlaid ? toJson(overlaid->overlay, overlaid->file.toStdString(), report) : toJson(report);
        const bool isPage = !path.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
        writeFileAtomically(path.toStdString(), isPage ? reportPage(json, report.file) : json);
    });
    if (written) m_editor.say(tr("Written to %1.").arg(QDir::toNativeSeparators(path)));
}

void ExportActions::exportImage() {
    const QString path = askForPath(
        tr("Export image"), {tr("PNG image (*.png)"), tr("SVG drawing (*.svg)"), tr("PDF page (*.pdf)")});
    if (path.isEmpty()) return;
    if (!exportPicture(m_canvas, path))
        m_editor.showError(
            tr("Cannot write the image"),
            tr("Cannot write %1. Choose a writable folder and a name that ends in .png, .svg or .pdf.")
                .arg(path));
}

void ExportActions::print() {
    QPrinter printer(QPrinter::HighResolution);
    printer.setDocName(m_document.title());
    const QSizeF size = m_canvas.picture().size();
    printer.setPageOrientation(size.width() > size.height() ? QPageLayout::Landscape : QPageLayout::Portrait);
    QPrintDialog dialog(&printer, &m_window);
    dialog.setWindowTitle(tr("Print the canvas"));
    dialog.setOption(QAbstractPrintDialog::PrintShowPageSize);
    if (dialog.exec() != QDialog::Accepted) return;
    if (!printPicture(m_canvas, printer))
        m_editor.showError(
            tr("Cannot print the canvas"),
            tr("The printer %1 is not available. Choose another printer or a writable file.")
                .arg(printer.outputFileName().isEmpty() ? printer.printerName() : printer.outputFileName()));
}

} // namespace twb
