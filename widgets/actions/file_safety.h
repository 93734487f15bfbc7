#pragma once

#include "widgets/document.h"
#include "widgets/recovery.h"

#include <QObject>

#include <memory>

namespace twb {

class CanvasWidget;
class FileActions;
class FileWatch;
class GraphEditor;
class LogPanel;
class NoticeBar;

/// Protects unsaved work: autosave, recovery after a crash, and files changed by another program.
class FileSafety : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    FileSafety(Document& document, CanvasWidget& canvas, FileActions& files, GraphEditor& editor,
               LogPanel& log, NoticeBar& notice, QWidget& window);
    ~FileSafety() override;

    /// Like MainWindow::guard().
    bool guard(const QString& folder);
    /// Like MainWindow::offerCrashReports().
    void offerCrashReports(const QString& folder);
    void readSettings();
    /// Deletes the snapshot. Call it when the window closes and all changes are saved or discarded.
    void finish();

private:
    bool offer(const std::vector<Recovery::Left>& left);
    void fileChanged();
    bool mayReplace();
    void fileRemoved();
    void reload();
    void compareWithFile();

    Document& m_document;
    CanvasWidget& m_canvas;
    FileActions& m_files;
    GraphEditor& m_editor;
    LogPanel& m_log;
    NoticeBar& m_notice;
    QWidget& m_window;
    std::unique_ptr<FileWatch> m_watch;
    bool m_isChangedOnDisk = false;       ///< by another program, and the user has not chosen a version
    std::unique_ptr<Recovery> m_recovery; ///< null until there is a folder for it
};

} // namespace twb
