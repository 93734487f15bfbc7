#pragma once

#include "graph/alignment.h"
#include "widgets/bottom_panel.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/document.h"
#include "widgets/inspector/inspector.h"
#include "widgets/palette/op_palette.h"
#include "widgets/panels/problems_panel.h"
#include "widgets/quick_find.h"
#include "widgets/recovery.h"
#include "widgets/run_bar.h"
#include "widgets/run_controller.h"
#include "widgets/settings_dialog.h"
#include "widgets/status_line.h"

#include <QMainWindow>
#include <QStringList>

#include <array>
#include <utility>

class QActionGroup;
class QMenu;
class QSplitter;
class QStackedWidget;

namespace twb {

class BreakpointsPanel;
class FileWatch;
class LogPanel;
class ManualWindow;
class NoticeBar;
class OpSearch;
class StartPage;
class TransfersPanel;

/// The program's window: palette, canvas, inspector, panels, and a menu entry for every action.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent = nullptr);
    ~MainWindow() override;

    Document& document() noexcept { return m_document; }
    RunController& runs() noexcept { return m_runs; }
    CanvasWidget& canvas() noexcept { return *m_canvas; }
    BottomPanel& bottom() noexcept { return *m_bottom; }

    /// Opens a project, or an ONNX model as an unsaved project, after asking about the current run and
    /// unsaved changes. False if the user cancelled or the file cannot be read, which a message box reports.
    bool openFile(const QString& path);
    /// Opens without asking, and cancels the run. Throws Error as Document::open and readModel do. Returns
    /// remarks about a model.
    QStringList load(const QString& path);
    /// Starts autosave in a folder, and offers files that a crash left there. True if a file was restored.
    bool guard(const QString& folder);
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
    void connectPanels();
    // main_menus.cpp
    void buildMenus();
    void buildFileMenu();
    void buildEditMenu();
    void buildGraphMenu();
    void fillDotActions(QMenu& menu);
    void buildRunMenu();
    void buildGuardMenu(QMenu& menu);
    void buildViewMenu();
    void editSettings(SettingsPage page);
    void readSettings();
    // main_arranging.cpp
    void fillSelectMenu(QMenu& menu);
    void fillAlignMenu(QMenu& menu);
    std::vector<AlignedCard> selectedCards() const;
    // main_breakpoints.cpp
    void fillBreakpointMenu(QMenu& menu);
    BreakpointsPanel* makeBreakpointsPanel();
    std::vector<Breakpoint> breakpointsAtHand() const;
    void askForCondition(const std::vector<NodeId>& nodes);
    std::optional<Breakpoint> conditionFor(const std::vector<NodeId>& nodes, const Breakpoint& start);
    void showStop();
    void refreshBreakpointActions();
    // main_analysis.cpp
    void fillAnalysisMenu(QMenu& menu);
    void reviewFixes();
    void reviewPlacement();
    void showWhatIf();
    void showPolicyLens();
    void pinSelection();
    void fillRecent();
    void fillExamples();
    void fillLaneMenu();
    void refreshActions();
    QAction* addAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                       const std::function<void()>& triggered);
    // main_files.cpp
    struct OpenedFile;
    OpenedFile readFile(const QString& path);
    void showFile(OpenedFile file);
    bool mayLeave();
    bool mayEndRun();
    bool mayDiscard();
    void clear();
    void openByDialog();
    void print();
    bool save();
    bool saveAs();
    bool saveTo(const QString& path);
    bool offerTensors(const QString& path);
    bool bringTensors(const QString& path);
    bool copyTensors(const QList<std::pair<QString, QString>>& files);
    void openExample(const QString& path);
    void exportImage();
    // main_exports.cpp
    QString askForExport(const QString& title, const QStringList& filters);
    void exportTorch();
    void exportModel();
    void exportReport();
    // main_safety.cpp
    bool offer(const std::vector<Recovery::Left>& left);
    void fileChanged();
    void fileRemoved();
    void reload();
    void compareWithFile();
    void showError(const QString& title, const QString& sentence);
    /// Runs `change`; an Error is shown in a message box. True on success.
    bool attempt(const QString& title, const std::function<void()>& change);

    void edit(Delta delta, const std::vector<NodeId>& select = {});
    // main_adding.cpp
    bool hasLaneFor(const QString& op, LaneId lane);
    void add(const std::function<Delta(std::vector<NodeId>*)>& make);
    void addOpAt(const QString& op, LaneId lane, Position position,
                 const std::optional<Splice>& splice = std::nullopt);
    void addOpInView(const QString& op);
    void searchOp(QPoint at, std::optional<LooseWire> wire);
    void addFound(const QString& op);

    void copy();
    void paste();
    void addNoteInView();
    void editNote(NoteId id);
    void applyFirstFix();
    void setIterations(std::int64_t iterations);
    void setPolicy(Policy policy);
    void chooseDevice(const DeviceChoice& choice);
    // main_modules.cpp
    FrameId moduleAtHand() const;
    void fillModuleMenu(QMenu& menu);
    void fillColorMenu(QMenu& menu);
    void renameModuleAtHand();
    void keepModule();
    static void reloadPalettes();
    // main_lanes.cpp
    LaneId laneAtHand() const;
    void fillLaneActions(QMenu& menu);
    void renameLane(LaneId id);
    void askAndRemoveLane(LaneId id);
    void showLaneMenu(LaneId id, QPoint at);

    // main_context_menu.cpp
    void showContextMenu(const Hit& what, QPoint at);
    void fillContextMenu(QMenu& menu, const Hit& what);
    void setTheme(const QString& name);
    void updateTitle();
    void updateProblemCount();
    void logRemarks();
    // main_navigation.cpp
    void goTo(NodeId id);
    std::vector<QuickFind::Item> findable(QuickFind::Scope scope);
    void fillGoMenu(QMenu& menu);
    void stepPane(int by);
    // main_help.cpp
    void buildHelpMenu();
    void showManual();
    void offerNextLesson(const QString& path);

    LaneId laneInView() const;
    std::vector<NodeId> selectedNodes() const;

    Document m_document;
    RunController m_runs;
    RunBar* m_bar = nullptr;
    OpPalette* m_palette = nullptr;
    CanvasWidget* m_canvas = nullptr;
    Inspector* m_inspector = nullptr;
    BottomPanel* m_bottom = nullptr;
    ProblemsPanel* m_problems = nullptr;
    TransfersPanel* m_transfers = nullptr;
    LogPanel* m_log = nullptr;
    QStringList m_saidOfDevices; ///< device remarks that the log already has
    StatusLine* m_status = nullptr;
    QuickFind* m_find = nullptr;
    OpSearch* m_search = nullptr;
    struct WantedOp {
        QPoint at; ///< of the canvas
        std::optional<LooseWire> wire;
    };
    WantedOp m_wanted;              ///< the request for which m_search is open
    Recovery* m_recovery = nullptr; ///< null until there is a folder for it
    std::array<std::optional<CanvasWidget::Spot>, 9> m_bookmarks;
    FileWatch* m_watch = nullptr;
    NoticeBar* m_notice = nullptr;
    StartPage* m_start = nullptr;
    QStackedWidget* m_pages = nullptr; ///< the columns, or the start page
    QSplitter* m_columns = nullptr;
    QSplitter* m_middle = nullptr; ///< canvas above, panels below
    bool m_shown = false;
    ManualWindow* m_manual = nullptr; ///< created on first use

    QMenu* m_recent = nullptr;
    QMenu* m_examples = nullptr;
    QMenu* m_laneMenu = nullptr;
    QMenu* m_editMenu = nullptr;
    QMenu* m_moduleMenu = nullptr;
    QMenu* m_graphMenu = nullptr;
    std::vector<QAction*> m_needSelection; ///< enabled while nodes are selected
    std::vector<QAction*> m_needModule;    ///< enabled while the selection is in a module
    QAction* m_legendAction = nullptr;
    /// The actions that the context menu shares with the menus, in addition to the actions below.
    struct {
        QAction *cut, *copy, *paste, *duplicate, *remove, *removeThrough, *rename, *selectAll;
        QAction *addOp, *insertTo, *addNote, *fit;
        QAction *openModule, *renameModule, *dissolveModule;
        QMenu *align, *addLane, *moduleColors;
    } m_common{};
    QAction* m_foldAction = nullptr;
    QAction* m_unfoldAction = nullptr;
    QAction* m_disableAction = nullptr;
    QAction* m_addDotAction = nullptr;
    QAction* m_straightenAction = nullptr;
    QAction* m_collapseAction = nullptr;
    QAction* m_leaveAction = nullptr;
    QAction* m_runAction = nullptr;
    QAction* m_continuousAction = nullptr;
    QAction* m_stopAction = nullptr;
    QAction* m_stepAction = nullptr;
    QMenu* m_breakpointMenu = nullptr;
    std::vector<std::pair<Breakpoint::Kind, QAction*>>
        m_breakpointKinds; ///< checked if all selected nodes have it
    QAction* m_breakpointEnable = nullptr;
};

} // namespace twb
