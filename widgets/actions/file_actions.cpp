#include "widgets/actions/file_actions.h"

#include "core/error.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "graph/arrange.h"
#include "graph/delta.h"
#include "ops/op_table.h"
#include "ops/plugins/plugins.h"
#include "ops/plugins/project_plugins.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/finish_typing.h"
#include "widgets/message_box.h"
#include "widgets/model_import.h"
#include "widgets/notice_bar.h"
#include "widgets/palette/own_modules.h"
#include "widgets/panels/log_panel.h"
#include "widgets/recent_files.h"
#include "widgets/run_controller.h"
#include "widgets/settings.h"
#include "widgets/text.h"
#include "widgets/training_run.h"

#include <QDir>
#include <QEventLoop>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace twb {
namespace {

QString projectFilter() { return FileActions::tr("Tensor Workbench projects (*.twb);;All files (*)"); }

/// The tensor files that a graph reads, as it names them.
QStringList filesRead(const Graph& graph) {
    QStringList out;
    for (const GraphFile& named : filesNamedBy(graph)) {
        const QString file = toQt(splitTensorPath(named.path).file);
        if (!named.isWritten && !out.contains(file)) out << file;
    }
    return out;
}

/// The change that gives the nodes which read a file of `names` its new name.
Delta renamed(const Graph& graph, const std::map<QString, QString>& names) {
    DeltaBuilder rename(graph, FileActions::tr("Rename tensor files").toStdString());
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (!op || op->role == OpRole::sink) continue;
        Node changed = node;
        for (const AttributeSpec& spec : op->attributes) {
            const AttributeValue* old =
                spec.type == AttributeType::file ? node.attributes.find(spec.name) : nullptr;
            const auto* text = old ? std::get_if<std::string>(old) : nullptr;
            const auto name = text ? names.find(toQt(splitTensorPath(*text).file)) : names.end();
            if (name == names.end()) continue;
            changed.attributes.set(spec.name, name->second.toStdString() +
                                                  text->substr(name->first.toStdString().size()));
        }
        if (changed != node) rename.change(changed);
    }
    return rename.take();
}

} // namespace

FileActions::FileActions(Document& document, RunController& runs, const TrainingRun& training,
                         CanvasWidget& canvas, GraphEditor& editor, LogPanel& log, NoticeBar& notice,
                         QWidget& window)
    : m_document(document), m_runs(runs), m_training(training), m_canvas(canvas), m_editor(editor),
      m_log(log), m_notice(notice), m_window(window), m_knownOps(opTable().size()),
      m_knownProblems(pluginProblems().size()) {
    connect(&document, &Document::reset, this, &FileActions::tellOfPlugins);
    connect(&document, &Document::reset, this, &FileActions::takeModules);
}

/// Compares with the last time, because the start page loads plug-ins before their project is opened.
void FileActions::tellOfPlugins() {
    const std::size_t ops = opTable().size();
    const std::size_t problems = pluginProblems().size();
    if (ops == m_knownOps && problems == m_knownProblems) return;
    m_knownOps = ops;
    m_knownProblems = problems;
    Q_EMIT pluginsLoaded();
}

void FileActions::takeModules() {
    const QString path = m_document.path();
    if (!path.isEmpty() && addModulesBeside(path)) Q_EMIT pluginsLoaded();
}

void FileActions::fillNew(QMenu& menu) {
    addAction(menu, tr("&New"), QKeySequence::New, [this] { clear(); });
}

void FileActions::fillOpen(QMenu& menu) {
    addAction(menu, tr("&Open…"), QKeySequence::Open, [this] { openByDialog(); });
    QMenu* recent = menu.addMenu(tr("Open &recent"));
    connect(recent, &QMenu::aboutToShow, this, [this, recent] { fillRecent(*recent); });
    QMenu* examples = menu.addMenu(tr("&Examples"));
    connect(examples, &QMenu::aboutToShow, this, [this, examples] { fillExamples(*examples); });
}

void FileActions::fillSave(QMenu& menu) {
    addAction(menu, tr("&Save"), QKeySequence::Save, [this] { save(); });
    addAction(menu, tr("Save &as…"), QKeySequence(QStringLiteral("Ctrl+Shift+S")), [this] { saveAs(); });
}

void FileActions::fillRecent(QMenu& menu) {
    menu.clear();
    for (const QString& path : recentFiles())
        menu.addAction(QDir::toNativeSeparators(path), this, [this, path] { openFile(path); });
    if (menu.isEmpty()) menu.addAction(tr("No recent files"))->setEnabled(false);
}

void FileActions::fillExamples(QMenu& menu) {
    if (!menu.isEmpty()) return;
    try {
        for (const QString& path : exampleFiles()) {
            const std::string title = loadProject(path.toStdString()).info().title;
            menu.addAction(exampleTitle(path, toQt(title)), this, [this, path] { openExample(path); });
        }
    } catch (const Error& error) {
        menu.addAction(toQt(error.what()))->setEnabled(false);
    }
}

/// A file that was read completely, before anything in the window changes.
struct FileActions::OpenedFile {
    QString path; ///< absolute
    Graph graph;
    std::shared_ptr<const QTemporaryDir> folder; ///< of a model's tensors; null for a project
    QStringList remarks;
    Delta simplification;
    QStringList simplifications;
};

std::optional<Graph> FileActions::readProject(const QString& path) {
    Graph graph;
    const bool isWhole = workCancellable(
        tr("Reading %1…").arg(QFileInfo(path).fileName()), &m_window, [&](const IsCancelled& isCancelled) {
            graph = loadProject(std::filesystem::path(path.toStdU16String()), isCancelled);
            arrangeUnplaced(graph, isCancelled);
        });
    return isWhole ? std::optional(std::move(graph)) : std::nullopt;
}

/// Nothing if the user cancelled.
std::optional<FileActions::OpenedFile> FileActions::readFile(const QString& path) {
    OpenedFile file;
    file.path = QFileInfo(path).absoluteFilePath();
    if (isModel(path)) {
        std::optional<OpenedModel> model = readModelWaiting(file.path, &m_window);
        if (!model) return std::nullopt;
        file.graph = std::move(model->graph);
        file.folder = std::move(model->folder);
        file.remarks = std::move(model->remarks);
        file.simplification = std::move(model->simplification);
        file.simplifications = std::move(model->simplifications);
    } else {
        std::optional<Graph> graph = readProject(file.path);
        if (!graph) return std::nullopt;
        file.graph = std::move(*graph);
    }
    return file;
}

void FileActions::showFile(OpenedFile file) {
    const QFileInfo info(file.path);
    if (file.folder)
        m_document.import(std::move(file.graph),
                          info.absoluteDir().filePath(info.completeBaseName() + QStringLiteral(".twb")),
                          std::move(file.folder), file.path);
    else
        m_document.setGraph(std::move(file.graph), file.path, info.absolutePath());
    m_log.add(Severity::note, tr("Opened %1").arg(QDir::toNativeSeparators(file.path)));
    for (const QString& remark : file.remarks) m_log.add(Severity::warning, remark);
    m_editor.edit(std::move(file.simplification));
    for (const QString& change : file.simplifications) m_log.add(Severity::note, change);
    m_canvas.navigator().zoomToFit();
}

QStringList FileActions::load(const QString& path) {
    std::optional<OpenedFile> file = readFile(path);
    if (!file) return {};
    QStringList remarks = file->remarks;
    showFile(std::move(*file));
    return remarks;
}

void FileActions::clear() {
    if (mayLeave()) m_document.clear(settings::policy());
}

void FileActions::openByDialog() {
    const QString path =
        QFileDialog::getOpenFileName(&m_window, tr("Open"), m_document.folder(),
                                     tr("Projects and models (*.twb *.onnx *.pt2 *.twbcap);;All files (*)"));
    if (!path.isEmpty()) openFile(path);
}

void FileActions::askAboutPlugins(const QString& path) {
    if (isModel(path) || arePluginsDisabled()) return;
    std::filesystem::path ops;
    QStringList names;
    // A folder on another machine may answer late.
    const auto look = [&] {
        ops = opsBeside(std::filesystem::path(path.toStdU16String()));
        if (ops.empty() || trustIn(ops) != Trust::unasked) return;
        for (const std::filesystem::path& file : librariesIn(ops)) names << toQt(file.filename().string());
    };
    workWaiting(tr("Reading %1…").arg(QFileInfo(path).fileName()), &m_window, look);
    if (names.isEmpty()) return;
    QMessageBox box(
        QMessageBox::NoIcon, tr("Use the project's plug-ins?"),
        names.size() == 1
            ? tr("The folder of %1 contains a plug-in that adds ops.").arg(QFileInfo(path).fileName())
            : tr("The folder of %1 contains plug-ins that add ops.").arg(QFileInfo(path).fileName()),
        QMessageBox::NoButton, &m_window);
    box.setInformativeText(
        tr("A plug-in is a program. It runs with your permissions and can read and change your files. Use it "
           "only if you trust its author. "
           "“Use” and “Do not use” are remembered for this folder.\n\n%1: %2")
            .arg(QDir::toNativeSeparators(toQt(ops.string())), names.join(QStringLiteral(", "))));
    dress(box, Severity::warning);
    const QPushButton* use = box.addButton(tr("Use"), QMessageBox::AcceptRole);
    const QPushButton* leave = box.addButton(tr("Do not use"), QMessageBox::DestructiveRole);
    QPushButton* later = box.addButton(tr("Not now"), QMessageBox::RejectRole);
    box.setDefaultButton(later);
    box.setEscapeButton(later);
    box.exec();
    const QAbstractButton* clicked = box.clickedButton();
    if (clicked != use && clicked != leave) return;
    m_editor.attempt(tr("Cannot remember the answer"), [&] { rememberTrust(ops, clicked == use); });
}

bool FileActions::openFile(const QString& path) {
    askAboutPlugins(path);
    const QString title = tr("Cannot open the file");
    std::optional<OpenedFile> file;
    if (!m_editor.attempt(title, [&] { file = readFile(path); }) || !file || !mayLeave()) return false;
    // Save may have written this very file after it was read.
    const bool isOpen = QFileInfo(m_document.path()) == QFileInfo(file->path);
    if (isOpen && (!m_editor.attempt(title, [&] { file = readFile(path); }) || !file)) return false;
    const QString absolute = file->path;
    if (!m_editor.attempt(title, [&] { showFile(std::move(*file)); })) return false;
    rememberRecent(absolute);
    return true;
}

void FileActions::openExample(const QString& path) {
    // The document gets no path, because saving an example must not change the program's own files.
    m_editor.attempt(tr("Cannot open the example"), [&] {
        std::optional<Graph> graph = readProject(path);
        if (!graph || !mayLeave()) return;
        m_document.setGraph(std::move(*graph), {}, QFileInfo(path).absolutePath());
        m_canvas.navigator().zoomToFit();
        offerNextLesson(path);
    });
}

/// Asks about a run in progress, and stops it, or leaves it running on another machine. The window repaints
/// until the run's last kernel has ended.
bool FileActions::mayEndRun() {
    if (!mayEndTraining()) return false;
    if (!m_runs.isRunning()) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("Run in progress"), tr("Stop run %1?").arg(m_runs.runNumber()),
                    QMessageBox::Cancel, &m_window);
    box.setInformativeText(tr("The graph is still running. Its results will be lost."));
    const QString host = m_runs.followedHost();
    const bool isFollowing = m_runs.isFollowing() && host.isEmpty();
    if (!host.isEmpty()) box.setText(tr("Stop run %1 on %2?").arg(QString::number(m_runs.runNumber()), host));
    if (isFollowing) {
        box.setText(tr("Stop watching the program?"));
        box.setInformativeText(
            tr("The watched program keeps running. Its figures in this window will be lost."));
    }
    dress(box, Severity::note);
    QPushButton* stop =
        box.addButton(isFollowing ? tr("Stop watching") : tr("Stop run"), QMessageBox::AcceptRole);
    stop->setObjectName(QStringLiteral("stopRun"));
    box.setDefaultButton(stop);
    QPushButton* leave = nullptr;
    if (!host.isEmpty() && !m_runs.isAwaiting()) { // it has started there
        leave = box.addButton(tr("Keep running"), QMessageBox::AcceptRole);
        leave->setObjectName(QStringLiteral("leaveRun"));
        box.setDefaultButton(leave);
        box.setInformativeText(
            tr("Keep running: the run continues on %1. To see its results later, run the unchanged project "
               "there with the same number of iterations. Stop run: its results are lost.")
                .arg(host));
    }
    box.exec();
    if (leave && box.clickedButton() == leave) {
        m_runs.detach();
        return true;
    }
    if (box.clickedButton() != stop) return false;
    QEventLoop loop;
    connect(&m_runs, &RunController::finished, &loop, &QEventLoop::quit);
    m_runs.stop();
    loopWaiting(
        loop, [this] { return !m_runs.isRunning(); }, tr("Stopping run %1…").arg(m_runs.runNumber()),
        &m_window);
    return true;
}

/// Asks about a training run in progress, and about trained weights that were not exported. Both end with the
/// graph.
bool FileActions::hasTraining() const { return isTraining() || m_training.hasUnsavedParameters(); }

bool FileActions::isTraining() const {
    return m_training.state() == TrainingRun::State::running ||
           m_training.state() == TrainingRun::State::paused;
}

bool FileActions::mayEndTraining() {
    if (!hasTraining()) return true;
    const bool isActive = isTraining();
    const QString number = QString::number(m_training.course().number);
    QMessageBox box(QMessageBox::NoIcon, isActive ? tr("Training in progress") : tr("Trained weights"),
                    isActive ? tr("Stop training run %1?").arg(number)
                             : tr("Discard the weights of training run %1?").arg(number),
                    QMessageBox::Cancel, &m_window);
    box.setInformativeText(
        isActive ? tr("The training run has not ended. Its weights will be lost.")
                 : tr("They were not exported. To keep them, choose Cancel, then Export weights in the "
                      "Training panel."));
    dress(box, Severity::note);
    QPushButton* end =
        box.addButton(isActive ? tr("Stop training") : tr("Discard weights"), QMessageBox::DestructiveRole);
    end->setObjectName(QStringLiteral("endTraining"));
    box.setDefaultButton(QMessageBox::Cancel);
    box.exec();
    return box.clickedButton() == end;
}

/// Asks about unsaved changes. False if the user cancelled.
bool FileActions::mayDiscard() {
    finishTyping(m_window.focusWidget());
    Q_EMIT leaving();
    if (!m_document.isModified()) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("Unsaved changes"),
                    tr("Save the changes to %1?").arg(m_document.title()),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, &m_window);
    box.setInformativeText(tr("If you do not save, the changes are lost."));
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

bool FileActions::save() { return m_document.path().isEmpty() ? saveAs() : saveTo(m_document.path()); }

bool FileActions::saveAs() {
    QString start = m_document.path();
    if (start.isEmpty()) start = m_document.suggestedPath();
    if (start.isEmpty()) start = QDir(QDir::homePath()).filePath(tr("untitled.twb"));
    QString path = QFileDialog::getSaveFileName(&m_window, tr("Save as"), start, projectFilter());
    if (path.isEmpty()) return false;
    if (QFileInfo(path).suffix().isEmpty()) path += QStringLiteral(".twb");
    if (!m_editor.attempt(tr("Cannot save the file"),
                          [&] { m_document.checkTarget(path, FileClaims::Content::project); }))
        return false;
    return m_document.suggestedPath().isEmpty() ? offerTensors(path) && saveTo(path) : saveImport(path);
}

/// Offers to copy the tensor files that would be missing in the folder of `path`: a project names them
/// relative to its folder. False if the user cancelled or a copy failed.
bool FileActions::offerTensors(const QString& path) {
    const QDir from(m_document.folder());
    const QDir to(QFileInfo(path).absolutePath());
    QStringList missing;
    for (const QString& file : filesRead(m_document.graph()))
        if (from.exists(file) && !to.exists(file)) missing << file;
    if (missing.isEmpty()) return true;
    QMessageBox box(
        QMessageBox::NoIcon, tr("Copy the tensor files?"),
        missing.size() == 1
            ? tr("The graph reads 1 tensor file that is not in the new folder.")
            : tr("The graph reads %1 tensor files that are not in the new folder.").arg(missing.size()),
        QMessageBox::Cancel, &m_window);
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

/// Saves an imported model, whose tensors are in a temporary folder, and copies them beside the project. A
/// file whose name is taken there gets the project's name, with a number if that is taken, too.
bool FileActions::saveImport(const QString& path) {
    const QDir from(m_document.folder());
    const QFileInfo project(path);
    const QDir to = project.absoluteDir();
    QList<std::pair<QString, QString>> files;
    std::map<QString, QString> names;
    for (const QString& file : filesRead(m_document.graph())) {
        if (QDir::isAbsolutePath(file) || !from.exists(file)) continue;
        const QString ending = QLatin1Char('.') + QFileInfo(file).suffix();
        QString name = file;
        const auto isTaken = [&] {
            if (QDir::cleanPath(name).startsWith(QLatin1String(".."))) return true; // it is elsewhere
            return to.exists(name) || std::any_of(files.begin(), files.end(), [&](const auto& other) {
                       return other.second == to.filePath(name);
                   });
        };
        if (isTaken()) name = project.completeBaseName() + ending;
        for (int number = 2; isTaken(); ++number)
            name = QStringLiteral("%1-%2%3").arg(project.completeBaseName()).arg(number).arg(ending);
        files << std::pair(from.filePath(file), to.filePath(name));
        if (name != file) names.emplace(file, name);
    }
    if (!copyTensors(files)) return false;
    if (saveTo(path, renamed(m_document.graph(), names))) return true;
    for (const auto& [source, target] : files) QFile::remove(target); // else the next save finds them taken
    return false;
}

/// Copies the first file of each pair to the second. Reports the first failure and returns false.
bool FileActions::copyTensors(const QList<std::pair<QString, QString>>& files) {
    QString failed;
    workWaiting(tr("Copying tensors…"), &m_window, [&] {
        QStringList copied;
        for (const auto& [source, target] : files) {
            if (!QDir().mkpath(QFileInfo(target).absolutePath()) || !QFile::copy(source, target)) {
                failed = target;
                for (const QString& other : copied) QFile::remove(other);
                return;
            }
            copied << target;
        }
    });
    if (failed.isEmpty()) return true;
    m_editor.showError(tr("Cannot copy a tensor file"),
                       tr("Cannot write %1. Choose a writable folder with enough space.")
                           .arg(QDir::toNativeSeparators(failed)));
    return false;
}

bool FileActions::saveTo(const QString& path, const Delta& rename) {
    if (QFileInfo(path) == QFileInfo(m_document.path()) && m_mayReplace && !m_mayReplace()) return false;
    const bool saved = m_editor.attempt(tr("Cannot save the file"), [&] { m_document.save(path, rename); });
    if (saved) rememberRecent(m_document.path());
    return saved;
}

/// Shows the name of the open lesson and a button for the next one.
void FileActions::offerNextLesson(const QString& path) {
    const int number = lessonNumber(path);
    if (number == 0) return;
    std::vector<NoticeBar::Answer> answers;
    if (const QString next = lessonFile(number + 1); !next.isEmpty())
        answers.push_back({tr("Next lesson"), [this, next] { openExample(next); }, false});
    answers.push_back({tr("Close"), [] {}});
    m_notice.tell(exampleTitle(path, m_document.title()), std::move(answers));
}

} // namespace twb
