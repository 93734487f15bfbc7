#include "core/error.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "widgets/canvas/export_picture.h"
#include "widgets/main_window.h"
#include "widgets/message_box.h"
#include "widgets/model_import.h"
#include "widgets/panels/log_panel.h"
#include "widgets/recent_files.h"
#include "widgets/settings.h"
#include "widgets/text.h"

#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QPrintDialog>
#include <QPrinter>
#include <QPushButton>
#include <QTimer>

namespace twb {
namespace {

QString projectFilter() { return MainWindow::tr("Tensor Workbench projects (*.twb);;All files (*)"); }

/// The tensor files that a graph reads, as it names them.
QStringList filesRead(const Document& document) {
    QStringList out;
    for (const Node& node : document.graph().nodes()) {
        if (node.op != "File") continue;
        const AttributeValue* path = node.attributes.find("path");
        const auto* text = path ? std::get_if<std::string>(path) : nullptr;
        if (!text) continue;
        const QString file = toQt(splitTensorPath(*text).file);
        if (!out.contains(file)) out << file;
    }
    return out;
}

} // namespace

bool MainWindow::attempt(const QString& title, const std::function<void()>& change) {
    try {
        change();
        return true;
    } catch (const Error& error) {
        showError(title, toQt(error.what()));
        return false;
    }
}

void MainWindow::clear() {
    if (mayDiscard()) m_document.clear(settings::policy());
}

void MainWindow::openByDialog() {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Open"), m_document.folder(), tr("Projects and ONNX models (*.twb *.onnx);;All files (*)"));
    if (!path.isEmpty()) openFile(path);
}

bool MainWindow::openFile(const QString& path) {
    if (!mayDiscard()) return false;
    if (isModel(path)) return openModel(path);
    const bool opened = attempt(tr("Cannot open the file"), [&] { load(path); });
    if (opened) rememberRecent(m_document.path());
    return opened;
}

/// Asks where its project is to be kept, beside it if nobody minds, and opens that.
bool MainWindow::openModel(const QString& path) {
    const QFileInfo model(path);
    QString project = QFileDialog::getSaveFileName(
        this, tr("Keep the project of %1 as").arg(model.fileName()),
        model.absoluteDir().filePath(model.completeBaseName() + QStringLiteral(".twb")), projectFilter());
    if (project.isEmpty()) return false;
    if (QFileInfo(project).suffix().isEmpty()) project += QStringLiteral(".twb");
    const bool opened = attempt(tr("Cannot open the model"), [&] {
        const QStringList remarks = importModelWaiting(path, project, this);
        load(project);
        for (const QString& remark : remarks) m_log->add(Severity::warning, remark);
    });
    if (opened) rememberRecent(m_document.path());
    return opened;
}

namespace {

/// The file that is dragged from elsewhere, when it is one that can be opened.
QString draggedFile(const QMimeData& data) {
    if (data.urls().size() != 1) return {};
    const QString path = data.urls().first().toLocalFile();
    const bool isOurs = isModel(path) || path.endsWith(QLatin1String(".twb"), Qt::CaseInsensitive);
    return isOurs ? path : QString();
}

} // namespace

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!draggedFile(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QString path = draggedFile(*event->mimeData());
    if (path.isEmpty()) return;
    event->acceptProposedAction();
    // Whoever it was dragged from waits for the end of the drop, and there may be questions.
    QTimer::singleShot(0, this, [this, path] { openFile(path); });
}

void MainWindow::openExample(const QString& path) {
    if (!mayDiscard()) return;
    // Without its path: saving an example must not change the program's own files.
    attempt(tr("Cannot open the example"), [&] {
        const QFileInfo file(path);
        m_document.setGraph(loadProject(path.toStdString()), {}, file.absolutePath());
        m_canvas->zoomToFit();
    });
}

/// Asks what to do with unsaved changes; false: go on as if nothing had been asked for.
bool MainWindow::mayDiscard() {
    if (!m_document.isModified()) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("Unsaved changes"),
                    tr("Save the changes to %1?").arg(m_document.title()),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box.setInformativeText(tr("Unsaved changes will be lost."));
    dress(box, Severity::note);
    box.setDefaultButton(QMessageBox::Save);
    switch (box.exec()) {
    case QMessageBox::Save:
        return save();
    case QMessageBox::Discard:
        return true;
    default:
        return false;
    }
}

bool MainWindow::save() { return m_document.path().isEmpty() ? saveAs() : saveTo(m_document.path()); }

bool MainWindow::saveAs() {
    QString start = m_document.path();
    if (start.isEmpty()) start = QDir(QDir::homePath()).filePath(tr("untitled.twb"));
    QString path = QFileDialog::getSaveFileName(this, tr("Save as"), start, projectFilter());
    if (path.isEmpty()) return false;
    if (QFileInfo(path).suffix().isEmpty()) path += QStringLiteral(".twb");
    return offerTensors(path) && saveTo(path);
}

/// A project names its tensors relative to its folder. In another folder they would be missing: offers to
/// bring them.
bool MainWindow::offerTensors(const QString& path) {
    const QDir from(m_document.folder());
    const QDir to(QFileInfo(path).absolutePath());
    QStringList missing;
    for (const QString& file : filesRead(m_document))
        if (from.exists(file) && !to.exists(file)) missing << file;
    if (missing.isEmpty()) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("Copy the tensor files?"),
                    tr("The graph reads %1 tensor files that are not in the new folder.").arg(missing.size()),
                    QMessageBox::Cancel, this);
    box.setInformativeText(tr("The saved graph needs them to run."));
    dress(box, Severity::note);
    const QPushButton* copy = box.addButton(tr("Copy"), QMessageBox::AcceptRole);
    box.addButton(tr("Do not copy"), QMessageBox::DestructiveRole);
    box.exec();
    if (box.clickedButton() == box.button(QMessageBox::Cancel)) return false;
    if (box.clickedButton() != copy) return true;
    for (const QString& file : missing) {
        const QString target = to.filePath(file);
        if (QDir().mkpath(QFileInfo(target).absolutePath()) && QFile::copy(from.filePath(file), target))
            continue;
        showError(tr("Cannot copy a tensor file"),
                  tr("Cannot write %1. Choose a writable folder.").arg(target));
        return false;
    }
    return true;
}

bool MainWindow::saveTo(const QString& path) {
    const bool saved = attempt(tr("Cannot save the file"), [&] { m_document.save(path); });
    if (saved) rememberRecent(m_document.path());
    return saved;
}

void MainWindow::exportImage() {
    const QString path = askForExport(
        tr("Export image"), {tr("PNG image (*.png)"), tr("SVG drawing (*.svg)"), tr("PDF page (*.pdf)")});
    if (path.isEmpty()) return;
    if (!exportPicture(*m_canvas, path))
        showError(
            tr("Cannot write the image"),
            tr("Cannot write %1. Choose a writable folder, and .png, .svg or .pdf as ending.").arg(path));
}

void MainWindow::print() {
    QPrinter printer(QPrinter::HighResolution);
    printer.setDocName(m_document.title());
    const QSizeF size = m_canvas->pictureSize();
    printer.setPageOrientation(size.width() > size.height() ? QPageLayout::Landscape : QPageLayout::Portrait);
    QPrintDialog dialog(&printer, this);
    dialog.setWindowTitle(tr("Print the canvas"));
    dialog.setOption(QAbstractPrintDialog::PrintShowPageSize);
    if (dialog.exec() != QDialog::Accepted) return;
    if (!printPicture(*m_canvas, printer))
        showError(
            tr("Cannot print the canvas"),
            tr("The printer %1 is not available. Choose another printer or a writable file.")
                .arg(printer.outputFileName().isEmpty() ? printer.printerName() : printer.outputFileName()));
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (mayDiscard()) {
        m_runs.stop();
        if (m_recovery) m_recovery->finish();
        event->accept();
    } else
        event->ignore();
}

} // namespace twb
