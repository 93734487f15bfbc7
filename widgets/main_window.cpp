#include "widgets/main_window.h"

#include "core/error.h"
#include "placement/fixes.h"
#include "widgets/canvas/breadcrumb.h"
#include "widgets/file_watch.h"
#include "widgets/graph_edits.h"
#include "widgets/labels.h"
#include "widgets/module_edits.h"
#include "widgets/notice_bar.h"
#include "widgets/palette/op_search.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/memory_panel.h"
#include "widgets/panels/node_table.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/panels/transfers_panel.h"
#include "widgets/quick_find.h"
#include "widgets/settings.h"
#include "widgets/start_page.h"
#include "widgets/text.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QUndoView>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kWideWindow =
    1600; ///< the width at which the palette and the inspector have their preferred widths
constexpr int kPaletteWidth = 208;
constexpr int kInspectorWidth = 312;
constexpr int kLeastPalette = 152;
constexpr int kLeastInspector = 248;
constexpr int kLeastBottom = 216;     ///< the ledger's sums and a few rows
constexpr double kBottomShare = 0.26; ///< share of the window's height when it is first shown

} // namespace

MainWindow::MainWindow(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent)
    : QMainWindow(parent), m_document(std::move(profiles)), m_runs(m_document) {
    setObjectName(QStringLiteral("mainWindow"));
    setAcceptDrops(true);
    m_watch = new FileWatch(m_document, this);
    m_document.setStandIn(settings::profile(m_document.profiles()).toStdString());
    m_document.clear(settings::policy());
    buildPanels();
    buildMenus();
    connectPanels();
    // A click on a button does not take the focus, so that keys still go to the canvas.
    for (auto* button : findChildren<QAbstractButton*>())
        if (button->focusPolicy() != Qt::NoFocus) button->setFocusPolicy(Qt::TabFocus);
    updateTitle();
    updateProblemCount();
    logRemarks();
    refreshActions();
    resize(1440, 900);
    m_canvas->setFocus();
}

MainWindow::~MainWindow() {
    delete m_recovery; // before the document, whose destruction looks like a save
    // Widgets use the document and the runs until they are destroyed, so they are deleted before these
    // members.
    qDeleteAll(findChildren<QWidget*>(Qt::FindDirectChildrenOnly));
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
    m_inspector = new Inspector(m_document, m_runs);
    m_inspector->setMinimumWidth(kLeastInspector);
    m_status = new StatusLine(m_document, m_runs);
    m_search = new OpSearch(this);

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
    history->setToolTip(tr("All changes since the graph was opened. Click one to go back or forward to it."));
    m_bottom->addPage(history, QStringLiteral("history"), tr("History"));
    QWidget* breakpoints = makeBreakpointsPanel();
    m_bottom->addPage(breakpoints, QStringLiteral("breakpoints"), tr("Breakpoints"));
    m_bottom->setTabVisible(breakpoints, false); // shown with the first breakpoint

    m_middle = new QSplitter(Qt::Vertical);
    auto* graphView = new QWidget;
    auto* graphLayout = new QVBoxLayout(graphView);
    graphLayout->setContentsMargins(0, 0, 0, 0);
    graphLayout->setSpacing(0);
    graphLayout->addWidget(new Breadcrumb(m_document, *m_canvas));
    graphLayout->addWidget(m_canvas, 1);
    m_middle->addWidget(graphView);
    m_middle->addWidget(m_bottom);
    m_middle->setStretchFactor(0, 1);
    m_middle->setStretchFactor(1, 0);
    m_middle->setHandleWidth(1);
    m_middle->setCollapsible(0, false);
    m_columns = new QSplitter(Qt::Horizontal);
    for (QWidget* column : {static_cast<QWidget*>(m_palette), static_cast<QWidget*>(m_middle),
                            static_cast<QWidget*>(m_inspector)})
        m_columns->addWidget(column);
    m_columns->setStretchFactor(1, 1);
    m_columns->setHandleWidth(1);
    m_columns->setCollapsible(1, false);

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

void MainWindow::connectPanels() {
    connect(m_palette, &OpPalette::opChosen, this, &MainWindow::addOpInView);
    connect(m_palette, &OpPalette::ownModulesChanged, this, &MainWindow::reloadPalettes);
    connect(m_canvas, &CanvasWidget::opDropped, this, &MainWindow::addOpAt);
    connect(m_canvas, &CanvasWidget::opWanted, this, &MainWindow::searchOp);
    connect(m_canvas, &CanvasWidget::nodeActivated, this, [this] { m_inspector->editName(); });
    connect(m_canvas, &CanvasWidget::noteActivated, this, &MainWindow::editNote);
    connect(m_canvas, &CanvasWidget::contextMenuRequested, this, &MainWindow::showContextMenu);
    connect(m_canvas, &CanvasWidget::laneHeaderClicked, this, &MainWindow::showLaneMenu);
    connect(m_canvas, &CanvasWidget::failed, this,
            [this](const QString& sentence) { m_status->say(sentence, Severity::error); });
    connect(m_search, &OpSearch::chosen, this, &MainWindow::addFound);
    connect(m_search, &OpSearch::closed, m_canvas, &CanvasWidget::dropHeldWire);
    connect(m_inspector, &Inspector::fixRequested, this, &MainWindow::applyFix);
    connect(m_inspector, &Inspector::problemsRequested, this, &MainWindow::showProblems);
    connect(m_inspector, &Inspector::refused, this,
            [this](const QString& sentence) { m_status->say(sentence, Severity::error); });
    connect(m_problems, &ProblemsPanel::fixRequested, this, &MainWindow::applyFix);
    connect(m_problems, &ProblemsPanel::fixesRequested, this,
            [this](const std::vector<Fix>& fixes, const QString& title) {
                m_canvas->setFocus();
                attempt(tr("Cannot apply the fixes"), [&] {
                    edit(mend(m_document.graph(), m_document.analysis(), m_document.devices(), fixes,
                              title.toStdString()));
                });
            });
    connect(m_problems, &ProblemsPanel::nodeChosen, m_canvas, &CanvasWidget::reveal);
    connect(m_transfers, &TransfersPanel::failed, this, &MainWindow::showError);
    connect(m_problems, &ProblemsPanel::shown, m_inspector, &Inspector::setProblemsElsewhere);

    // Connected first: the run disables these buttons, which would pass the focus to the next field. A field
    // that is being edited commits its text when it loses the focus.
    for (const auto signal : {&RunBar::runRequested, &RunBar::continuousRequested, &RunBar::stepRequested,
                              &RunBar::stopRequested})
        connect(m_bar, signal, m_canvas, qOverload<>(&QWidget::setFocus));
    connect(m_bar, &RunBar::runRequested, this, &MainWindow::run);
    connect(m_bar, &RunBar::continuousRequested, this, &MainWindow::runContinuously);
    connect(m_bar, &RunBar::stepRequested, &m_runs, &RunController::step);
    connect(m_bar, &RunBar::stopRequested, &m_runs, &RunController::stop);
    connect(m_bar, &RunBar::iterationsChosen, this, &MainWindow::setIterations);
    connect(m_bar, &RunBar::policyChosen, this, &MainWindow::setPolicy);
    connect(m_bar, &RunBar::deviceChosen, this, &MainWindow::chooseDevice);
    // Applies to a choice by mouse; a widget reached by Tab keeps the focus for the next key.
    const auto returnFromChoice = [this] {
        const QWidget* at = QApplication::focusWidget();
        if (!qobject_cast<const QComboBox*>(at) && !qobject_cast<const QAbstractButton*>(at))
            m_canvas->setFocus();
    };
    connect(m_bar, &RunBar::policyChosen, this, returnFromChoice);
    connect(m_bar, &RunBar::deviceChosen, this, returnFromChoice);
    connect(m_find, &QuickFind::finished, m_canvas, qOverload<>(&QWidget::setFocus));

    connect(&m_runs, &RunController::frame, m_canvas, &CanvasWidget::runStateChanged);
    connect(&m_runs, &RunController::stateChanged, m_canvas, &CanvasWidget::runStateChanged);
    connect(&m_runs, &RunController::preparing, this, &MainWindow::refreshActions);
    connect(&m_runs, &RunController::finished, this, &MainWindow::refreshActions);
    connect(&m_runs, &RunController::logged, m_log, &LogPanel::add);
    connect(&m_runs, &RunController::refused, this, [this](const QString& sentence) {
        m_status->say(sentence, Severity::error);
        if (m_document.analysis().hasErrors()) showProblems();
    });

    connect(&m_document, &Document::changed, this, &MainWindow::updateProblemCount);
    connect(&m_document, &Document::reset, this, &MainWindow::updateProblemCount);
    connect(&m_document, &Document::devicesChanged, this, &MainWindow::updateProblemCount);
    connect(&m_document, &Document::devicesChanged, this, &MainWindow::logRemarks);
    connect(&m_runs, &RunController::finished, this,
            &MainWindow::logRemarks); // remarks known only after the run
    connect(&m_document, &Document::changed, this, &MainWindow::refreshActions);
    connect(&m_document, &Document::reset, this, &MainWindow::refreshActions);
    connect(&m_document, &Document::selectionChanged, this, &MainWindow::refreshActions);
    connect(&m_document, &Document::pathChanged, this, &MainWindow::updateTitle);
    connect(&m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
    connect(m_watch, &FileWatch::changed, this, &MainWindow::fileChanged);
    connect(m_watch, &FileWatch::removed, this, &MainWindow::fileRemoved);
    connect(&m_document, &Document::pathChanged, m_notice, &QWidget::hide); // it referred to another state
    const auto showGraph = [this] {
        if (m_pages->currentWidget() == m_columns) return;
        m_pages->setCurrentWidget(m_columns);
        m_canvas->setFocus();
    };
    connect(&m_document, &Document::changed, this, showGraph);
    connect(&m_document, &Document::reset, this, showGraph);
    connect(m_start, &StartPage::left, this, showGraph);
    connect(m_start, &StartPage::newRequested, this, &MainWindow::clear);
    connect(m_start, &StartPage::openRequested, this, &MainWindow::openByDialog);
    connect(m_start, &StartPage::fileChosen, this, &MainWindow::openFile);
    connect(m_start, &StartPage::exampleChosen, this, &MainWindow::openExample);
    m_find->setSource([this](QuickFind::Scope scope) { return findable(scope); });
}

void MainWindow::showStartPage() {
    m_start->refill();
    m_pages->setCurrentWidget(m_start);
    m_start->setFocus();
}

void MainWindow::run() {
    if (m_runs.isStopped())
        m_runs.proceed();
    else
        m_runs.run(m_bar->iterations());
}

void MainWindow::runContinuously() { m_runs.runContinuously(); }

void MainWindow::showProblems() {
    m_bottom->show();
    m_bottom->showPage(m_problems);
}

void MainWindow::edit(Delta delta, const std::vector<NodeId>& select) {
    if (delta.empty()) return;
    m_log->add(Severity::note, toQt(delta.title));
    m_document.apply(std::move(delta));
    if (select.empty()) return;
    Selection selection;
    selection.nodes.insert(select.begin(), select.end());
    m_document.select(std::move(selection));
}

void MainWindow::applyFix(const Fix& fix) {
    m_canvas->setFocus(); // the button is deleted with its problem
    attempt(tr("Cannot apply the fix"), [&] {
        edit(mend(m_document.graph(), m_document.analysis(), m_document.devices(), {fix}, fix.title));
    });
}

void MainWindow::applyFirstFix() {
    const std::vector<Diagnostic>& all = m_document.analysis().diagnostics;
    const std::set<NodeId>& selected = m_document.selection().nodes;
    const Diagnostic* chosen = nullptr;
    for (const Diagnostic& d : all) {
        if (d.fixes.empty()) continue;
        if (!chosen) chosen = &d;
        if (!selected.contains(d.node)) continue;
        chosen = &d;
        break;
    }
    if (!chosen) {
        m_status->say(tr("None of the problems has a fix."));
        return;
    }
    applyFix(Fix(chosen->fixes.front()));
}

LaneId MainWindow::laneInView() const { return m_canvas->laneAt(m_canvas->rect().center()); }

std::vector<NodeId> MainWindow::selectedNodes() const {
    const std::set<NodeId>& nodes = m_document.selection().nodes;
    return {nodes.begin(), nodes.end()};
}

void MainWindow::copy() {
    const Selection& selection = m_document.selection();
    if (selection.nodes.empty() && selection.notes.empty()) return;
    QApplication::clipboard()->setText(copyText(m_document.graph(), selection));
}

void MainWindow::paste() {
    attempt(tr("The clipboard holds no nodes"), [this] {
        std::vector<NodeId> added;
        Delta delta = pasteText(m_document.graph(), QApplication::clipboard()->text(), laneInView(), &added);
        putIn(m_canvas->inside(), delta);
        openLanesOf(m_document.graph(), delta);
        edit(std::move(delta), added);
    });
}

void MainWindow::addNoteInView() {
    const LaneId lane = laneInView();
    if (lane == LaneId::none) return;
    if (m_canvas->inside() != FrameId::none) {
        m_status->say(tr("A module cannot contain notes. Leave the module to add one."), Severity::warning);
        return;
    }
    bool ok = false;
    const QString text =
        QInputDialog::getMultiLineText(this, tr("Add note"), tr("Text of the note"), {}, &ok);
    if (!ok || text.trimmed().isEmpty()) return;
    edit(addNote(m_document.graph(), lane, m_canvas->positionAt(m_canvas->rect().center()), text.trimmed()));
}

void MainWindow::editNote(NoteId id) {
    const Note* note = m_document.graph().find(id);
    if (!note) return;
    bool ok = false;
    const QString text =
        QInputDialog::getMultiLineText(this, tr("Edit note"), tr("Text of the note"), toQt(note->text), &ok);
    note = m_document.graph().find(id);
    if (!ok || !note) return;
    Note changed = *note;
    changed.text = text.trimmed().toStdString();
    DeltaBuilder builder(m_document.graph(), "Edit note");
    if (changed.text.empty())
        builder.removeNote(id);
    else
        builder.change(changed);
    edit(builder.take());
}

void MainWindow::setIterations(std::int64_t iterations) {
    GraphInfo info = m_document.graph().info();
    info.iterations = iterations;
    DeltaBuilder builder(m_document.graph(), "Set iterations to " + std::to_string(iterations));
    builder.setInfo(info);
    edit(builder.take());
}

void MainWindow::setPolicy(Policy policy) {
    GraphInfo info = m_document.graph().info();
    info.policy = policy;
    DeltaBuilder builder(m_document.graph(), "Set policy to " + policy.toString());
    builder.setInfo(info);
    edit(builder.take());
}

void MainWindow::chooseDevice(const DeviceChoice& choice) {
    attempt(tr("Device not available"), [&] {
        std::vector<DeviceChoice> choices = m_document.deviceChoices();
        std::erase_if(choices, [&](const DeviceChoice& c) { return c.device == choice.device; });
        choices.push_back(choice);
        m_document.setDeviceChoices(std::move(choices));
    });
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
    if (std::exchange(m_shown, true)) return;
    const int bottom = std::max(kLeastBottom, int(kBottomShare * height()));
    m_middle->setSizes({height() - bottom, bottom});
    // In a small window, the side panels shrink first.
    const int palette = std::clamp(kPaletteWidth * width() / kWideWindow, kLeastPalette, kPaletteWidth);
    const int inspector =
        std::clamp(kInspectorWidth * width() / kWideWindow, kLeastInspector, kInspectorWidth);
    m_columns->setSizes({palette, width() - palette - inspector, inspector});
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::ThemeChange && settings::theme().isEmpty()) setTheme({});
}

void MainWindow::setTheme(const QString& name) {
    const Theme& theme = name == QLatin1String("dark")    ? Theme::dark()
                         : name == QLatin1String("light") ? Theme::light()
                                                          : Theme::ofSystem();
    settings::setTheme(name);
    if (&theme != &Theme::current()) Theme::apply(*qobject_cast<QApplication*>(qApp), theme);
}

} // namespace twb
