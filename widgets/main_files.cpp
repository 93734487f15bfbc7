#include "core/error.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "graph/delta.h"
#include "widgets/busy_dialog.h"
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
#include <QEventLoop>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QPrintDialog>
#include <QPrinter>
#include <QPushButton>
#include <QTimer>

#include <algorithm>
#include <filesystem>

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

/// A file that was read completely, before anything in the window changes.
struct MainWindow::OpenedFile {
    QString path; ///< absolute
    Graph graph;
    std::shared_ptr<const QTemporaryDir> folder; ///< of a model's tensors; null for a project
    QStringList remarks;
};

MainWindow::OpenedFile MainWindow::readFile(const QString& path) {
    OpenedFile file;
    file.path = QFileInfo(path).absoluteFilePath();
    if (isModel(path)) {
        OpenedModel model = readModelWaiting(file.path, this);
        file.graph = std::move(model.graph);
        file.folder = std::move(model.folder);
        file.remarks = std::move(model.remarks);
    } else {
        file.graph = loadProject(std::filesystem::path(file.path.toStdU16String()));
    }
    return file;
}

void MainWindow::showFile(OpenedFile file) {
    const QFileInfo info(file.path);
    if (file.folder)
        m_document.import(std::move(file.graph),
                          info.absoluteDir().filePath(info.completeBaseName() + QStringLiteral(".twb")),
                          std::move(file.folder));
    else
        m_document.setGraph(std::move(file.graph), file.path, info.absolutePath());
    m_canvas->zoomToFit();
    m_log->add(Severity::note, tr("Opened %1").arg(QDir::toNativeSeparators(file.path)));
    for (const QString& remark : file.remarks) m_log->add(Severity::warning, remark);
}

QStringList MainWindow::load(const QString& path) {
    OpenedFile file = readFile(path);
    const QStringList remarks = file.remarks;
    showFile(std::move(file));
    return remarks;
}

void MainWindow::clear() {
    if (mayLeave()) m_document.clear(settings::policy());
}

void MainWindow::openByDialog() {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Open"), m_document.folder(), tr("Projects and ONNX models (*.twb *.onnx);;All files (*)"));
    if (!path.isEmpty()) openFile(path);
}

bool MainWindow::openFile(const QString& path) {
    const QString title = tr("Cannot open the file");
    OpenedFile file;
    if (!attempt(title, [&] { file = readFile(path); }) || !mayLeave()) return false;
    const QString absolute = file.path;
    if (!attempt(title, [&] { showFile(std::move(file)); })) return false;
    rememberRecent(absolute);
    return true;
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
    if (!mayLeave()) return;
    // Without its path: saving an example must not change the program's own files.
    attempt(tr("Cannot open the example"), [&] {
        const QFileInfo file(path);
        m_document.setGraph(loadProject(path.toStdString()), {}, file.absolutePath());
        m_canvas->zoomToFit();
        offerNextLesson(path);
    });
}

/// Asks before another graph takes the place of this one. False: go on as if nothing had been asked for.
bool MainWindow::mayLeave() { return mayDiscard() && mayEndRun(); }

/// Asks about a run that is on, and stops it. The window goes on painting until its last kernel has ended.
bool MainWindow::mayEndRun() {
    if (!m_runs.isRunning()) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("Run in progress"), tr("Stop run %1?").arg(m_runs.runNumber()),
                    QMessageBox::Cancel, this);
    box.setInformativeText(tr("The graph is still running. Its results will be lost."));
    dress(box, Severity::note);
    QPushButton* stop = box.addButton(tr("Stop run"), QMessageBox::AcceptRole);
    stop->setObjectName(QStringLiteral("stopRun"));
    box.setDefaultButton(stop);
    box.exec();
    if (box.clickedButton() != stop) return false;
    QEventLoop loop;
    connect(&m_runs, &RunController::finished, &loop, &QEventLoop::quit);
    m_runs.stop();
    loopWaiting(
        loop, [this] { return !m_runs.isRunning(); }, tr("Stopping run %1…").arg(m_runs.runNumber()), this);
    return true;
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
    if (start.isEmpty()) start = m_document.suggestedPath();
    if (start.isEmpty()) start = QDir(QDir::homePath()).filePath(tr("untitled.twb"));
    QString path = QFileDialog::getSaveFileName(this, tr("Save as"), start, projectFilter());
    if (path.isEmpty()) return false;
    if (QFileInfo(path).suffix().isEmpty()) path += QStringLiteral(".twb");
    if (!attempt(tr("Cannot save the file"),
                 [&] { m_document.checkTarget(path, FileClaims::Content::project); }))
        return false;
    return (m_document.suggestedPath().isEmpty() ? offerTensors(path) : bringTensors(path)) && saveTo(path);
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
    QList<std::pair<QString, QString>> files;
    for (const QString& file : missing) files << std::pair(from.filePath(file), to.filePath(file));
    return copyTensors(files);
}

/// A model that was imported has its tensors in a folder that ends with it. They go beside the project, under
/// its name, and never over a file that is there.
bool MainWindow::bringTensors(const QString& path) {
    const QDir from(m_document.folder());
    const QFileInfo project(path);
    const QDir to = project.absoluteDir();
    QList<std::pair<QString, QString>> files;
    DeltaBuilder rename(m_document.graph(), tr("Rename tensor files").toStdString());
    for (const QString& file : filesRead(m_document)) {
        if (!from.exists(file)) continue;
        const QString ending = QLatin1Char('.') + QFileInfo(file).suffix();
        QString name = project.completeBaseName() + ending;
        const auto isTaken = [&] {
            return to.exists(name) || std::any_of(files.begin(), files.end(), [&](const auto& other) {
                       return other.second == to.filePath(name);
                   });
        };
        for (int number = 2; isTaken(); ++number)
            name = QStringLiteral("%1-%2%3").arg(project.completeBaseName()).arg(number).arg(ending);
        files << std::pair(from.filePath(file), to.filePath(name));
        for (const Node& node : m_document.graph().nodes()) {
            const AttributeValue* old = node.op == "File" ? node.attributes.find("path") : nullptr;
            const auto* text = old ? std::get_if<std::string>(old) : nullptr;
            if (name == file || !text || toQt(splitTensorPath(*text).file) != file) continue;
            Node changed = node;
            changed.attributes.set("path", name.toStdString() + text->substr(file.toStdString().size()));
            rename.change(changed);
        }
    }
    if (!copyTensors(files)) return false;
    m_document.apply(rename.take());
    return true;
}

/// From the first place of each pair to the second one.
bool MainWindow::copyTensors(const QList<std::pair<QString, QString>>& files) {
    QString failed;
    workWaiting(tr("Copying tensors…"), this, [&] {
        for (const auto& [source, target] : files)
            if (!QDir().mkpath(QFileInfo(target).absolutePath()) || !QFile::copy(source, target)) {
                failed = target;
                return;
            }
    });
    if (failed.isEmpty()) return true;
    showError(tr("Cannot copy a tensor file"),
              tr("Cannot write %1. Choose a writable folder with enough space.")
                  .arg(QDir::toNativeSeparators(failed)));
    return false;
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
        showError(tr("Cannot write the image"),
                  tr("Cannot write %1. Choose a writable folder and a name that ends in .png, .svg or .pdf.")
                      .arg(path));
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
    if (mayLeave()) {
        if (m_recovery) m_recovery->finish();
        event->accept();
    } else
        event->ignore();
}

} // namespace twb
