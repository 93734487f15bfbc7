#include "widgets/main_window.h"

#include "ops/op_table.h"
#include "ops/plugins/plugins.h"
#include "widgets/actions/add_actions.h"
#include "widgets/actions/analysis_actions.h"
#include "widgets/actions/breakpoint_actions.h"
#include "widgets/actions/edit_actions.h"
#include "widgets/actions/export_actions.h"
#include "widgets/actions/file_actions.h"
#include "widgets/actions/file_safety.h"
#include "widgets/actions/fix_actions.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/lane_actions.h"
#include "widgets/actions/module_actions.h"
#include "widgets/actions/navigation.h"
#include "widgets/actions/node_actions.h"
#include "widgets/actions/overlay_actions.h"
#include "widgets/actions/precision_actions.h"
#include "widgets/actions/run_actions.h"
#include "widgets/actions/run_there_actions.h"
#include "widgets/actions/trace_actions.h"
#include "widgets/actions/training_actions.h"
#include "widgets/actions/view_actions.h"
#include "widgets/actions/watch_actions.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/breadcrumb.h"
#include "widgets/labels.h"
#include "widgets/model_import.h"
#include "widgets/notice_bar.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/memory_panel.h"
#include "widgets/panels/node_table.h"
#include "widgets/panels/ranks_panel.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/panels/training_panel.h"
#include "widgets/panels/transfers_panel.h"
#include "widgets/quick_find.h"
#include "widgets/settings.h"
#include "widgets/start_page.h"
#include "widgets/text.h"
#include "widgets/window_layout.h"

#include <QApplication>
#include <QCloseEvent>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QUndoView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr int kLeastPalette = 152;
constexpr int kLeastInspector = 248;

} // namespace

MainWindow::MainWindow(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent)
    : QMainWindow(parent), m_document(std::move(profiles)), m_runs(m_document), m_training(m_document) {
    setObjectName(QStringLiteral("mainWindow"));
    setAcceptDrops(true);
    m_document.setStandIn(settings::profile(m_document.profiles()).toStdString());
    m_document.clear(settings::policy());
    buildPanels();
    connectPanels(); // first: a click on a tool returns the focus to the canvas before it disables the tool
    buildActions();
    buildMenus();
    // A click on a button does not take the focus, so that keys still go to the canvas.
    for (auto* button : findChildren<QAbstractButton*>())
        if (button->focusPolicy() != Qt::NoFocus) button->setFocusPolicy(Qt::TabFocus);
    updateTitle();
    updateProblemCount();
    logRemarks();
    opTable(); // loads the plug-ins
    logPluginProblems();
    resize(1440, 900);
    m_canvas->setFocus();
}

MainWindow::~MainWindow() {
    m_safety.reset(); // before the document, whose destruction looks like a save
    // Widgets use the document and the runs until they are destroyed, so they are deleted before these
    // members.
    qDeleteAll(findChildren<QWidget*>(Qt::FindDirectChildrenOnly));
}

void MainWindow::buildActions() {
    m_editor = std::make_unique<GraphEditor>(m_document, *m_log, *m_status, *this);
    m_files = std::make_unique<FileActions>(m_document, m_runs, m_training, *m_canvas, *m_editor, *m_log,
                                            *m_notice, *this);
    m_safety =
        std::make_unique<FileSafety>(m_document, *m_canvas, *m_files, *m_editor, *m_log, *m_notice, *this);
    m_exports = std::make_unique<ExportActions>(m_document, m_runs, *m_canvas, *m_editor, *this);
    m_edits = std::make_unique<EditActions>(m_document, *m_canvas, *m_editor);
    m_adds = std::make_unique<AddActions>(m_document, *m_canvas, *m_editor, *this);
    m_lanes = std::make_unique<LaneActions>(m_document, *m_canvas, *m_editor, *this);
    m_learning = std::make_unique<TrainingActions>(m_document, *m_canvas, *m_editor, *this);
    m_precision = std::make_unique<PrecisionActions>(m_document, *m_editor, *m_log, *this);
    m_modules = std::make_unique<ModuleActions>(m_document, *m_canvas, *m_editor, *m_log, *m_notice, *this);
    m_nodes = std::make_unique<NodeActions>(m_document, *m_canvas, *m_editor);
    m_fixes = std::make_unique<FixActions>(m_document, *m_canvas, *m_editor);
    m_analysis = std::make_unique<AnalysisActions>(m_document, *m_editor, *this);
    m_breakpoints = std::make_unique<BreakpointActions>(m_document, *m_canvas, *m_editor, *this);
    m_runActions = std::make_unique<RunActions>(m_document, m_runs, *m_bar, *m_editor);
    m_runThere = std::make_unique<RunThereActions>(m_document, m_runs, *m_bar, *m_editor, *this);
    m_traces = std::make_unique<TraceActions>(m_document, m_runs, *m_bottom, *m_editor, *this);
    auto* ranks = m_bottom->findChild<RanksPanel*>();
    connect(ranks, &RanksPanel::traceRequested, m_traces.get(), &TraceActions::openForRanks);
    connect(m_traces.get(), &TraceActions::ranksRequested, this, [this, ranks] {
        m_bottom->show();
        m_bottom->showPage(ranks);
        ranks->focus();
    });
    m_watch = std::make_unique<WatchActions>(m_document, m_runs, *m_files, *m_canvas, *this);
    m_overlay = std::make_unique<OverlayActions>(m_document, m_runs, *m_editor, *m_notice, *this);
    m_navigation = std::make_unique<Navigation>(
        m_document, *m_canvas, *m_find, *m_editor,
        std::vector<QWidget*>{m_bar, m_palette, m_start, m_canvas, m_inspector, m_bottom}, *this);
    m_view = std::make_unique<ViewActions>(*m_canvas);

    connect(m_canvas, &CanvasWidget::nodeActivated, this, [this](NodeId node) {
        if (!m_learning->goToPartner(node)) m_inspector->editName();
    });
    connect(m_palette, &OpPalette::opChosen, m_adds.get(), &AddActions::addOpInView);
    connect(m_files.get(), &FileActions::pluginsLoaded, this, [this] {
        reloadPalettes();
        logPluginProblems();
    });
    connect(m_modules.get(), &ModuleActions::ownModulesChanged, this, &MainWindow::reloadPalettes);
    connect(m_canvas, &CanvasWidget::laneHeaderClicked, m_lanes.get(), &LaneActions::showHeaderMenu);
    connect(m_bar, &RunBar::ranksRequested, this, [this] { m_analysis->showRanks(); });
    connect(m_lanes.get(), &LaneActions::deviceChosen, m_runActions.get(), &RunActions::chooseDevice);
    connect(m_inspector, &Inspector::exampleRequested, m_adds.get(), &AddActions::addOpInView);
    connect(m_inspector, &Inspector::fixRequested, this, &MainWindow::applyFix);
    connect(m_problems, &ProblemsPanel::fixRequested, this, &MainWindow::applyFix);
    connect(m_problems, &ProblemsPanel::fixesRequested, this,
            [this](const std::vector<Fix>& fixes, const QString& title) { m_fixes->applyAll(fixes, title); });
    connect(m_transfers, &TransfersPanel::failed, this,
            [this](const QString& title, const QString& sentence) { m_editor->showError(title, sentence); });
    m_breakpoints->serve(*m_bottom->findChild<BreakpointsPanel*>());
    // Applies to a choice by mouse; a widget reached by Tab keeps the focus for the next key.
    const auto returnFromChoice = [this] {
        const QWidget* at = QApplication::focusWidget();
        if (!qobject_cast<const QComboBox*>(at) && !qobject_cast<const QAbstractButton*>(at))
            m_canvas->setFocus();
    };
    connect(m_bar, &RunBar::policyChosen, this, returnFromChoice);
    connect(m_bar, &RunBar::deviceChosen, this, returnFromChoice);
    connectStartPage();
}

void MainWindow::buildPanels() {
    m_bar = new RunBar(m_document, m_runs);
    m_find = new QuickFind;
    m_find->setMinimumWidth(72);
    m_find->setMaximumWidth(232);
    m_bar->setTrailing(m_find);
    m_palette = new OpPalette;
    m_palette->setMinimumWidth(kLeastPalette);
    m_canvas = new CanvasWidget(m_document);
    m_canvas->setObjectName(QStringLiteral("canvas"));
    m_canvas->setRunState(&m_runs.state());
    m_inspector = new Inspector(m_document, m_runs, m_training);
    m_inspector->setMinimumWidth(kLeastInspector);
    m_status = new StatusLine(m_document, m_runs);

    m_bottom = new BottomPanel;
    m_transfers = new TransfersPanel(m_document, m_runs);
    m_problems = new ProblemsPanel(m_document);
    m_log = new LogPanel;
    m_bottom->addPage(m_transfers, QStringLiteral("transfers"), tr("Transfers"), m_transfers->switches());
    m_bottom->addPage(new TimelinePanel(m_document, m_runs), QStringLiteral("timeline"), tr("Timeline"));
    m_bottom->addPage(new MemoryPanel(m_document, m_runs), QStringLiteral("memory"), tr("Memory"));
    m_bottom->addPage(m_problems, QStringLiteral("problems"), tr("Problems"));
    m_bottom->addPage(m_log, QStringLiteral("log"), tr("Log"));
    m_bottom->addPage(new NodeTable(m_document, m_runs), QStringLiteral("nodes"), tr("Nodes"));
    auto* history = new QUndoView(&m_document.undoStack());
    history->setObjectName(QStringLiteral("history"));
    history->setAccessibleName(tr("Undo history"));
    history->setEmptyLabel(tr("As opened"));
    history->setToolTip(
        tr("Lists all changes since the graph was opened. Click one to go back or forward to it."));
    m_bottom->addPage(history, QStringLiteral("history"), tr("History"));
    auto* training = new TrainingPanel(m_document, m_training);
    m_bottom->addPage(training, QStringLiteral("training"), tr("Training"), training->controls());
    connect(training, &TrainingPanel::learnRequested, this, [this] { m_learning->addTraining(); });
    connect(training, &TrainingPanel::failed, this,
            [this](const QString& title, const QString& sentence) { m_editor->showError(title, sentence); });
    auto* breakpoints = new BreakpointsPanel(m_document, m_runs);
    m_bottom->addPage(breakpoints, QStringLiteral("breakpoints"), tr("Breakpoints"));
    m_bottom->setTabVisible(breakpoints, false); // shown with the first breakpoint
    connect(breakpoints, &BreakpointsPanel::filled, this,
            [this, breakpoints](bool some) { m_bottom->setTabVisible(breakpoints, some); });

    auto* ranks = new RanksPanel(m_runs);
    m_bottom->addPage(ranks, QStringLiteral("ranks"), tr("Ranks"), ranks->controls());
    m_bottom->setTabVisible(ranks, false); // shown with the first run on several ranks
    connect(ranks, &RanksPanel::filled, this, [this, ranks](bool some) {
        // The page stays when the next run starts, whose ranks are not known yet.
        if (some || m_bottom->currentPage() != ranks) m_bottom->setTabVisible(ranks, some);
    });

    m_middle = new QSplitter(Qt::Vertical);
    auto* graphView = new QWidget;
    auto* graphLayout = new QVBoxLayout(graphView);
    graphLayout->setContentsMargins(0, 0, 0, 0);
    graphLayout->setSpacing(0);
    auto* breadcrumb = new Breadcrumb(m_document, *m_canvas);
    connect(breadcrumb, &Breadcrumb::levelsWanted, this,
            [this](int levels) { m_modules->openLevels(levels); });
    graphLayout->addWidget(breadcrumb);
    graphLayout->addWidget(m_canvas, 1);
    m_middle->addWidget(graphView);
    m_middle->addWidget(m_bottom);
    m_middle->setStretchFactor(0, 1);
    m_middle->setStretchFactor(1, 0);
    m_middle->setHandleWidth(1);
    m_middle->setChildrenCollapsible(false); // a splitter gives no key or menu to bring back a panel
    m_columns = new QSplitter(Qt::Horizontal);
    for (QWidget* column : {static_cast<QWidget*>(m_palette), static_cast<QWidget*>(m_middle),
                            static_cast<QWidget*>(m_inspector)})
        m_columns->addWidget(column);
    m_columns->setStretchFactor(1, 1);
    m_columns->setHandleWidth(1);
    m_columns->setChildrenCollapsible(false);
    m_layout = std::make_unique<WindowLayout>(*this, *m_columns, *m_middle, *m_bottom);

    m_start = new StartPage(m_document.sharedProfiles());
    m_pages = new QStackedWidget;
    m_pages->addWidget(m_columns);
    m_pages->addWidget(m_start);
    m_notice = new NoticeBar;

    auto* central = new QWidget;
    auto* layout = new QVBoxLayout(central);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_bar);
    layout->addWidget(makeLine());
    layout->addWidget(m_notice);
    layout->addWidget(m_pages, 1);
    layout->addWidget(makeLine());
    layout->addWidget(m_status);
    setCentralWidget(central);
}

void MainWindow::sayTraining() {
    const TrainingCourse& course = m_training.course();
    const auto state = m_training.state();
    if (state == TrainingRun::State::running)
        return m_status->say(tr("Training run %1 is running").arg(course.number));
    if (state == TrainingRun::State::paused)
        return m_status->say(tr("Training run %1 is paused").arg(course.number));
    const bool hasFailed = state == TrainingRun::State::failed;
    if (!hasFailed && course.number == 0) return; // the document has changed
    const Severity severity = hasFailed ? Severity::error : Severity::note;
    const QString sentence =
        hasFailed               ? tr("Training run %1 failed: %2").arg(course.number).arg(m_training.error())
        : course.losses.empty() ? tr("Training run %1 was stopped before its first step").arg(course.number)
                                : tr("Training ended: %1").arg(course.text());
    m_log->add(severity, sentence);
    m_status->say(sentence, severity);
}

void MainWindow::connectPanels() {
    const auto sayError = [this](const QString& sentence) { m_status->say(sentence, Severity::error); };
    connect(m_palette, &OpPalette::ownModulesChanged, this, &MainWindow::reloadPalettes);
    connect(m_canvas, &CanvasWidget::contextMenuRequested, this, &MainWindow::showContextMenu);
    connect(m_canvas, &CanvasWidget::failed, this, sayError);
    connect(m_inspector, &Inspector::problemsRequested, this, &MainWindow::showProblems);
    connect(m_inspector, &Inspector::refused, this, sayError);
    connect(m_inspector, &Inspector::said, this,
            [this](const QString& sentence) { m_status->say(sentence, Severity::note); });
    connect(m_problems, &ProblemsPanel::nodeChosen, &m_canvas->navigator(), &CanvasNavigator::reveal);
    connect(m_problems, &ProblemsPanel::shown, m_inspector, &Inspector::setProblemsElsewhere);

    // Connected first: the run disables these buttons, which would pass the focus to the next field. A field
    // that is being edited commits its text when it loses the focus.
    for (const auto signal : {&RunBar::runRequested, &RunBar::continuousRequested, &RunBar::stepRequested,
                              &RunBar::stopRequested})
        connect(m_bar, signal, m_canvas, qOverload<>(&QWidget::setFocus));
    connect(&m_runs, &RunController::frame, m_canvas, &CanvasWidget::runStateChanged);
    connect(&m_runs, &RunController::stateChanged, m_canvas, &CanvasWidget::runStateChanged);
    connect(&m_runs, &RunController::logged, m_log, &LogPanel::add);
    connect(&m_runs, &RunController::finished, this,
            &MainWindow::logRemarks); // remarks known only after the run
    connect(&m_runs, &RunController::stopped, this, &MainWindow::showStop);
    connect(&m_runs, &RunController::refused, this, [this](const QString& sentence) {
        m_status->say(sentence, Severity::error);
        if (m_document.analysis().hasErrors()) showProblems();
    });

    connect(&m_training, &TrainingRun::stateChanged, this, &MainWindow::sayTraining);

    connect(&m_document, &Document::changed, this, &MainWindow::updateProblemCount);
    for (const auto signal : {&Document::reset, &Document::devicesChanged})
        connect(&m_document, signal, this, &MainWindow::updateProblemCount);
    connect(&m_document, &Document::devicesChanged, this, &MainWindow::logRemarks);
    connect(&m_document, &Document::pathChanged, this, &MainWindow::updateTitle);
    connect(&m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
}

void MainWindow::connectStartPage() {
    const auto showGraph = [this] {
        if (m_pages->currentWidget() == m_columns) return;
        m_pages->setCurrentWidget(m_columns);
        m_canvas->setFocus();
    };
    connect(&m_document, &Document::changed, this, showGraph);
    connect(&m_document, &Document::reset, this, showGraph);
    connect(m_start, &StartPage::left, this, showGraph);
    connect(m_start, &StartPage::newRequested, m_files.get(), &FileActions::clear);
    connect(m_start, &StartPage::openRequested, m_files.get(), &FileActions::openByDialog);
    connect(m_start, &StartPage::fileChosen, m_files.get(), &FileActions::openFile);
    connect(m_start, &StartPage::exampleChosen, m_files.get(), &FileActions::openExample);
}

void MainWindow::showStartPage() {
    m_start->refill();
    m_pages->setCurrentWidget(m_start);
    m_start->setFocus();
}

void MainWindow::restoreLayout() { m_layout->restore(); }

void MainWindow::rememberLayout() const { m_layout->remember(); }

void MainWindow::run() { m_runActions->run(); }

void MainWindow::runContinuously() { m_runs.runContinuously(); }

void MainWindow::applyFix(const Fix& fix) { m_fixes->apply(fix); }

bool MainWindow::openFile(const QString& path) { return m_files->openFile(path); }

QStringList MainWindow::load(const QString& path) { return m_files->load(path); }

bool MainWindow::guard(const QString& folder) { return m_safety->guard(folder); }

void MainWindow::offerCrashReports(const QString& folder) { m_safety->offerCrashReports(folder); }

bool MainWindow::selectNode(const QString& name) {
    const Node* node = m_document.graph().findByName(name.toStdString());
    if (node) m_navigation->goTo(node->id);
    return node != nullptr;
}

void MainWindow::showProblems() {
    m_bottom->show();
    m_bottom->showPage(m_problems);
}

/// Selects the node or wire at which the run is stopped, so that the inspector shows its tensor.
void MainWindow::showStop() {
    if (QApplication::activePopupWidget() || QApplication::activeModalWidget())
        return; // an open menu or dialog is about the present selection
    const NodeId node = m_runs.state().stop->node;
    m_inspector->show();
    if (const std::optional<Edge> edge = m_runs.stoppedEdge()) {
        m_document.select({{}, {}, *edge});
        m_canvas->navigator().reveal(edge->to.node);
    } else if (m_document.graph().find(node)) {
        m_navigation->goTo(node);
    }
}

/// Once each.
void MainWindow::logPluginProblems() {
    const std::vector<PluginProblem> problems = pluginProblems();
    for (; m_pluginProblems < problems.size(); ++m_pluginProblems) {
        const PluginProblem& problem = problems[m_pluginProblems];
        m_log->add(
            Severity::warning,
            tr("Plug-in %1 was not loaded: %2").arg(toQt(problem.file.string()), toQt(problem.sentence)));
    }
}

void MainWindow::reloadPalettes() {
    for (QWidget* window : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(window)) {
            other->m_palette->reload();
            other->m_adds->reload();
        }
}

void MainWindow::updateTitle() {
    setWindowTitle(tr("%1[*] — Tensor Workbench").arg(m_document.title()));
    setWindowModified(m_document.isModified());
    setWindowFilePath(m_document.path());
}

/// Logs, once each, the reason why a device is simulated without a request, or slower than it could be.
void MainWindow::logRemarks() {
    const DeviceMap& devices = m_document.devices();
    for (const Device device : devices.devices()) {
        const QString remark = toQt(devices.remark(device));
        if (remark.isEmpty() || m_saidOfDevices.contains(remark)) continue;
        m_saidOfDevices << remark;
        m_log->add(Severity::note, remark);
    }
}

void MainWindow::updateProblemCount() {
    const auto problems = qint64(m_document.problemCount());
    const auto notes = qint64(m_document.noteCount());
    m_bottom->setTitle(m_problems, problems > 0 ? tr("Problems (%1)").arg(grouped(problems))
                                   : notes == 1 ? tr("Problems (1 note)")
                                   : notes > 1  ? tr("Problems (%1 notes)").arg(grouped(notes))
                                                : tr("Problems"));
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (!std::exchange(m_shown, true)) m_layout->divide();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::ThemeChange && settings::theme().isEmpty()) ViewActions::setTheme({});
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (isBusy(*this)) { // its work would go on in a deleted window
        raise();
        activateWindow();
        return event->ignore();
    }
    if (!m_files->mayLeave()) return event->ignore();
    m_safety->finish();
    rememberLayout();
    event->accept();
}

namespace {

/// The path of the dragged file; empty if it is not a file that can be opened.
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
    // Opening may ask questions, and the program from which the file was dragged waits until the drop
    // returns.
    QTimer::singleShot(0, this, [this, path] { openFile(path); });
}

} // namespace twb
