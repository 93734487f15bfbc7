#include "formats/onnx/onnx_export.h"
#include "formats/project.h"
#include "formats/pytorch/pytorch_export.h"
#include "profile/report.h"
#include "profile/report_page.h"
#include "widgets/ask_for_path.h"
#include "widgets/main_window.h"
#include "widgets/text.h"

#include <QDir>
#include <QFileInfo>

#include <filesystem>

namespace twb {

QString MainWindow::askForExport(const QString& title, const QStringList& filters) {
    const QString name = QFileInfo(m_document.title()).completeBaseName();
    const QString path = askForPath(this, title, QDir(m_document.folder()).filePath(name), filters);
    const bool mayWrite = path.isEmpty() || attempt(title, [&] { m_document.checkTarget(path); });
    return mayWrite ? path : QString();
}

void MainWindow::exportTorch() {
    const QString path = askForExport(tr("Export for PyTorch"), {tr("Python modules (*.py)")});
    if (path.isEmpty()) return;
    const bool written = attempt(tr("Cannot export the graph for PyTorch"), [&] {
        exportPyTorch(m_document.graph(), m_document.files().get(), m_document.folder().toStdString(),
                      path.toStdString());
    });
    if (written) m_status->say(tr("Written to %1; run it with python3.").arg(QDir::toNativeSeparators(path)));
}

void MainWindow::exportModel() {
    const QString path = askForExport(tr("Export an ONNX model"), {tr("ONNX models (*.onnx)")});
    if (path.isEmpty()) return;
    const bool written = attempt(tr("Cannot export the graph as an ONNX model"), [&] {
        exportOnnx(m_document.graph(), m_document.files().get(), path.toStdString());
    });
    if (written) m_status->say(tr("Written to %1.").arg(QDir::toNativeSeparators(path)));
}

/// The last run as one page, which is what `twb report` makes of what `twb run --report` wrote.
void MainWindow::exportReport() {
    const RunReport report = m_runs.report();
    if (!report.plan)
        return showError(tr("Nothing to report yet"), tr("Run the graph first, then export its report."));
    const QString path =
        askForExport(tr("Export the report"), {tr("HTML pages (*.html)"), tr("JSON reports (*.json)")});
    if (path.isEmpty()) return;
    const bool written = attempt(tr("Cannot write the report"), [&] {
        const std::string json = toJson(report);
        const bool isPage = !path.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
        writeFileAtomically(path.toStdString(), isPage ? reportPage(json, report.file) : json);
    });
    if (written) m_status->say(tr("Written to %1.").arg(QDir::toNativeSeparators(path)));
}

} // namespace twb
