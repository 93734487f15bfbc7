#pragma once

#include "widgets/bottom_panel.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/document.h"
#include "widgets/inspector/inspector.h"
#include "widgets/palette/op_palette.h"
#include "widgets/panels/problems_panel.h"
#include "widgets/run_bar.h"
#include "widgets/run_controller.h"
#include "widgets/settings_dialog.h"
#include "widgets/status_line.h"
#include "widgets/training_run.h"

#include <QMainWindow>
#include <QStringList>

#include <memory>

class QSplitter;
class QStackedWidget;

namespace twb {

class AddActions;
class AnalysisActions;
class BreakpointActions;
class EditActions;
class ExportActions;
class FileActions;
class FileSafety;
class FixActions;
class GraphEditor;
class LaneActions;
class LogPanel;
class ManualWindow;
class ModuleActions;
class Navigation;
class NodeActions;
class NoticeBar;
class OverlayActions;
class PrecisionActions;
class QuickFind;
class RunActions;
class RunThereActions;
class StartPage;
class TraceActions;
class TrainingActions;
class TransfersPanel;
class ViewActions;
class WatchActions;
class WindowLayout;

/// The program's window: palette, canvas, inspector and panels, with a menu entry for every action. It only
/// puts together the objects that do the work.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent = nullptr);
    ~MainWindow() override;

    Document& document() noexcept { return m_document; }
    RunController& runs() noexcept { return m_runs; }
    TrainingRun& training() noexcept { return m_training; }
    CanvasWidget& canvas() noexcept { return *m_canvas; }
    BottomPanel& bottom() noexcept { return *m_bottom; }

    /// Opens a project, or an ONNX model as an unsaved project, after asking about the current run and
    /// unsaved changes. False if the user cancelled or the file cannot be read, which a message box reports.
    bool openFile(const QString& path);
    /// Tells of a crash whose report is in `folder` (crash_report.h), and offers to show or delete the
    /// report.
    void offerCrashReports(const QString& folder);
    /// Opens without asking, and cancels the run. Throws Error as Document::open and readModel do. Returns
    /// remarks about a model.
    QStringList load(const QString& path);
    /// Starts autosave in a folder, and offers files that a crash left there. True if a file was restored.
    bool guard(const QString& folder);
    /// Before the window is shown: gives it the size, the place and the panels that rememberLayout() has
    /// written. Without this call, the window has the standard layout.
    void restoreLayout();
    /// Writes its size, its place and its panels to the settings. Closing the window does so, too.
    void rememberLayout() const;
    /// Replaces the graph until a file is opened, a graph is created, or Esc is pressed.
    void showStartPage();
    /// Selects the only node with this name and scrolls it into view.
    bool selectNode(const QString& name);

public Q_SLOTS:
    void run();
    void runContinuously();
    void applyFix(const twb::Fix& fix);
    void showProblems();

Q_SIGNALS:
    void windowRequested(); ///< the user wants another window
    void quitRequested();   ///< the user wants to quit the program

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void buildPanels();
    void buildActions();
    void connectPanels();
    void sayTraining(); ///< in the status line, and its end in the log
    void connectStartPage();
    // main_menus.cpp
    void buildMenus();
    void buildFileMenu();
    void buildEditMenu();
    void buildGraphMenu();
    void buildRunMenu();
    void buildViewMenu();
    void buildHelpMenu();
    void showContextMenu(const Hit& what, QPoint at);
    void editSettings(SettingsPage page);
    void readSettings();
    void logPluginProblems();
    static void reloadPalettes();
    void simplifyGraph();
    void showManual();
    void showStop();
    void updateTitle();
    void updateProblemCount();
    void logRemarks();

    Document m_document;
    RunController m_runs;
    TrainingRun m_training;
    std::size_t m_pluginProblems = 0; ///< number of those in the log
    RunBar* m_bar = nullptr;
    OpPalette* m_palette = nullptr;
    CanvasWidget* m_canvas = nullptr;
    Inspector* m_inspector = nullptr;
    BottomPanel* m_bottom = nullptr;
    ProblemsPanel* m_problems = nullptr;
    TransfersPanel* m_transfers = nullptr;
    LogPanel* m_log = nullptr;
    StatusLine* m_status = nullptr;
    QuickFind* m_find = nullptr;
    NoticeBar* m_notice = nullptr;
    StartPage* m_start = nullptr;
    QStackedWidget* m_pages = nullptr; ///< the columns, or the start page
    QSplitter* m_columns = nullptr;
    QSplitter* m_middle = nullptr; ///< canvas above, panels below
    std::unique_ptr<WindowLayout> m_layout;
    ManualWindow* m_manual = nullptr; ///< created on first use
    QAction* m_rename = nullptr;
    QStringList m_saidOfDevices; ///< device remarks that the log already has
    bool m_shown = false;

    std::unique_ptr<GraphEditor> m_editor;
    std::unique_ptr<FileActions> m_files;
    std::unique_ptr<FileSafety> m_safety;
    std::unique_ptr<ExportActions> m_exports;
    std::unique_ptr<EditActions> m_edits;
    std::unique_ptr<AddActions> m_adds;
    std::unique_ptr<LaneActions> m_lanes;
    std::unique_ptr<ModuleActions> m_modules;
    std::unique_ptr<NodeActions> m_nodes;
    std::unique_ptr<TrainingActions> m_learning;
    std::unique_ptr<PrecisionActions> m_precision;
    std::unique_ptr<FixActions> m_fixes;
    std::unique_ptr<AnalysisActions> m_analysis;
    std::unique_ptr<BreakpointActions> m_breakpoints;
    std::unique_ptr<RunActions> m_runActions;
    std::unique_ptr<RunThereActions> m_runThere;
    std::unique_ptr<TraceActions> m_traces;
    std::unique_ptr<WatchActions> m_watch;
    std::unique_ptr<OverlayActions> m_overlay;
    std::unique_ptr<Navigation> m_navigation;
    std::unique_ptr<ViewActions> m_view;
};

} // namespace twb
