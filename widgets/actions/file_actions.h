#pragma once

#include "widgets/document.h"

#include <QObject>
#include <QStringList>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

class QMenu;

namespace twb {

class CanvasWidget;
class GraphEditor;
class LogPanel;
class NoticeBar;
class RunController;
class TrainingRun;

/// Opens and saves files, and asks before a graph or a run is lost.
class FileActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    FileActions(Document& document, RunController& runs, const TrainingRun& training, CanvasWidget& canvas,
                GraphEditor& editor, LogPanel& log, NoticeBar& notice, QWidget& window);

    void fillNew(QMenu& menu);
    void fillOpen(QMenu& menu);
    void fillSave(QMenu& menu);

    /// Like MainWindow::openFile() and MainWindow::load().
    bool openFile(const QString& path);
    QStringList load(const QString& path);
    void openByDialog();
    void openExample(const QString& path);
    /// Reads a project on a thread of its own, while the window repaints and a dialog offers to cancel.
    /// Nothing if the user cancelled. Throws like loadProject().
    std::optional<Graph> readProject(const QString& path);
    void clear();
    bool save();
    /// Asks before another graph replaces this one, or the window closes. False if the user cancelled.
    bool mayLeave() { return mayDiscard() && mayEndRun(); }
    /// Asks about a run in progress, and stops it, and about a training run and its weights. False if the
    /// user cancelled.
    bool mayEndRun();
    /// Whether a training run is active, or has weights that were not exported.
    bool hasTraining() const;
    /// `mayReplace` is asked before a save replaces the document's file; false ends the save.
    void setReplaceQuestion(std::function<bool()> mayReplace) { m_mayReplace = std::move(mayReplace); }
    /// Before a project is read: asks whether the plug-ins beside it are used, until the user answers Use or
    /// Do not use, which is remembered for the folder. Without an answer, they stay unused.
    void askAboutPlugins(const QString& path);

Q_SIGNALS:
    /// Before mayLeave() asks about unsaved changes.
    void leaving();
    /// Since the last signal: those of a project, some of which may have been left out.
    void pluginsLoaded();

private:
    struct OpenedFile;
    void tellOfPlugins();
    void takeModules(); ///< those beside the project
    std::optional<OpenedFile> readFile(const QString& path);
    void showFile(OpenedFile file);
    bool mayDiscard();
    bool isTraining() const;
    bool mayEndTraining();
    bool saveAs();
    bool saveTo(const QString& path, const Delta& rename = {});
    bool offerTensors(const QString& path);
    bool saveImport(const QString& path);
    bool copyTensors(const QList<std::pair<QString, QString>>& files);
    void offerNextLesson(const QString& path);
    void fillRecent(QMenu& menu);
    void fillExamples(QMenu& menu);

    Document& m_document;
    RunController& m_runs;
    const TrainingRun& m_training;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    LogPanel& m_log;
    NoticeBar& m_notice;
    QWidget& m_window;
    std::function<bool()> m_mayReplace;
    // At the last pluginsLoaded().
    std::size_t m_knownOps;
    std::size_t m_knownProblems;
};

} // namespace twb
