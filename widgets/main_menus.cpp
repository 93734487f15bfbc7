#include "core/error.h"
#include "formats/project.h"
#include "graph/folding.h"
#include "widgets/canvas/legend.h"
#include "widgets/graph_edits.h"
#include "widgets/main_window.h"
#include "widgets/module_edits.h"
#include "widgets/panels/transfers_panel.h"
#include "widgets/quick_find.h"
#include "widgets/recent_files.h"
#include "widgets/settings.h"
#include "widgets/settings_dialog.h"
#include "widgets/text.h"
#include "widgets/wire_edits.h"

#include <QActionGroup>
#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QMenuBar>
#include <QSplitter>

#include <algorithm>
#include <array>
#include <utility>

namespace twb {

QAction* MainWindow::addAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                               const std::function<void()>& triggered) {
    QAction* action = menu.addAction(text);
    action->setProperty("findable", true); // the search field offers it
    makeEditable(*action, shortcut);
    connect(action, &QAction::triggered, this, triggered);
    return action;
}

void MainWindow::editSettings(SettingsPage page) {
    if (!askForSettings(m_document.profiles(), findChildren<QAction*>(), page, this)) return;
    for (QWidget* window : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(window)) other->readSettings();
}

void MainWindow::readSettings() {
    for (QAction* action : findChildren<QAction*>()) readShortcut(*action);
    if (m_recovery) m_recovery->setInterval(settings::autosaveInterval());
    m_document.setStandIn(settings::profile(m_document.profiles()).toStdString());
    const QString chosen = settings::theme();
    const QString key = chosen.isEmpty() ? QStringLiteral("system") : chosen;
    if (auto* action = findChild<QAction*>(QStringLiteral("theme.") + key)) action->trigger();
}

void MainWindow::buildMenus() {
    buildFileMenu();
    buildEditMenu();
    buildGraphMenu();
    buildRunMenu();
    buildViewMenu();
    buildHelpMenu();
}

void MainWindow::buildFileMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&File"));
    addAction(menu, tr("&New"), QKeySequence::New, [this] { clear(); });
    addAction(menu, tr("New &window"), QKeySequence(tr("Ctrl+Shift+N")),
              [this] { Q_EMIT windowRequested(); });
    addAction(menu, tr("&Open…"), QKeySequence::Open, [this] { openByDialog(); });
    m_recent = menu.addMenu(tr("Open &recent"));
    connect(m_recent, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
    m_examples = menu.addMenu(tr("&Examples"));
    connect(m_examples, &QMenu::aboutToShow, this, &MainWindow::fillExamples);
    addAction(menu, tr("Start &page"), QKeySequence(tr("Ctrl+Alt+H")), [this] { showStartPage(); });
    menu.addSeparator();
    addAction(menu, tr("&Save"), QKeySequence::Save, [this] { save(); });
    addAction(menu, tr("Save &as…"), QKeySequence(tr("Ctrl+Shift+S")), [this] { saveAs(); });
    addAction(menu, tr("Export &image…"), QKeySequence(tr("Ctrl+Shift+E")), [this] { exportImage(); });
    addAction(menu, tr("Export for P&yTorch…"), QKeySequence(tr("Ctrl+Alt+T")), [this] { exportTorch(); });
    addAction(menu, tr("Export O&NNX model…"), QKeySequence(tr("Ctrl+Alt+O")), [this] { exportModel(); });
    addAction(menu, tr("Export r&eport…"), QKeySequence(tr("Ctrl+Alt+R")), [this] { exportReport(); });
    addAction(menu, tr("P&rint…"), QKeySequence(tr("Ctrl+Alt+P")), [this] { print(); });
    menu.addSeparator();
    addAction(menu, tr("&Close window"), QKeySequence(tr("Ctrl+W")), [this] { close(); });
    addAction(menu, tr("&Quit"), QKeySequence(tr("Ctrl+Q")), [this] {
        Q_EMIT quitRequested();
    })->setMenuRole(QAction::QuitRole);
}

void MainWindow::fillRecent() {
    m_recent->clear();
    for (const QString& path : recentFiles())
        m_recent->addAction(QDir::toNativeSeparators(path), this, [this, path] { openFile(path); });
    if (m_recent->isEmpty()) m_recent->addAction(tr("No recent files"))->setEnabled(false);
}

void MainWindow::fillExamples() {
    if (!m_examples->isEmpty()) return;
    try {
        for (const QString& path : exampleFiles()) {
            const std::string title = loadProject(path.toStdString()).info().title;
            m_examples->addAction(exampleTitle(path, toQt(title)), this, [this, path] { openExample(path); });
        }
    } catch (const Error& error) {
        m_examples->addAction(toQt(error.what()))->setEnabled(false);
    }
}

void MainWindow::buildEditMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Edit"));
    m_editMenu = &menu;
    QAction* undo = m_document.undoStack().createUndoAction(this, tr("Undo"));
    makeEditable(*undo, QKeySequence::Undo);
    QAction* redo = m_document.undoStack().createRedoAction(this, tr("Redo"));
    redo->setShortcuts({QKeySequence(tr("Ctrl+Shift+Z")), QKeySequence(tr("Ctrl+Y"))});
    menu.addActions({undo, redo});
    menu.addSeparator();
    const auto needsSelection = [this](QAction* action) { m_needSelection.push_back(action); };
    needsSelection(m_common.cut = addAction(menu, tr("Cu&t"), QKeySequence::Cut, [this] {
                       copy();
                       edit(removeSelection(m_document.graph(), m_document.selection()));
                   }));
    needsSelection(m_common.copy = addAction(menu, tr("&Copy"), QKeySequence::Copy, [this] { copy(); }));
    m_common.paste = addAction(menu, tr("&Paste"), QKeySequence::Paste, [this] { paste(); });
    needsSelection(m_common.duplicate = addAction(menu, tr("&Duplicate"), QKeySequence(tr("Ctrl+D")), [this] {
                       std::vector<NodeId> added;
                       Delta delta = duplicate(m_document.graph(), m_document.selection(), &added);
                       putIn(m_canvas->inside(), delta);
                       edit(std::move(delta), added);
                   }));
    needsSelection(addAction(menu, tr("Duplicate with &inputs"), QKeySequence(tr("Ctrl+Shift+D")), [this] {
        std::vector<NodeId> added;
        Delta delta = duplicateWithInputs(m_document.graph(), m_document.selection(), &added);
        putIn(m_canvas->inside(), delta);
        edit(std::move(delta), added);
    }));
    needsSelection(addAction(menu, tr("Disc&onnect"), QKeySequence(tr("Ctrl+Shift+X")),
                             [this] { edit(detach(m_document.graph(), m_document.selection())); }));
    needsSelection(m_common.remove = addAction(menu, tr("De&lete"), QKeySequence::Delete, [this] {
                       edit(removeSelection(m_document.graph(), m_document.selection()));
                   }));
    needsSelection(
        m_common.removeThrough =
            addAction(menu, tr("Delete and reco&nnect"), QKeySequence(tr("Ctrl+Del")), [this] {
                edit(removeThrough(m_document.graph(), m_document.analysis(), m_document.selection()));
            }));
    menu.addSeparator();
    m_common.selectAll =
        addAction(menu, tr("Select &all"), QKeySequence::SelectAll, [this] { m_canvas->selectAll(); });
    fillSelectMenu(*menu.addMenu(tr("Select mo&re")));
    m_common.align = menu.addMenu(tr("Ali&gn"));
    fillAlignMenu(*m_common.align);
    needsSelection(m_common.rename = addAction(menu, tr("&Rename"), QKeySequence(tr("F2")),
                                               [this] { m_inspector->editName(); }));
    menu.addSeparator();
    addAction(menu, tr("Se&ttings…"), QKeySequence(tr("Ctrl+,")),
              [this] { editSettings(SettingsPage::general); });
    addAction(menu, tr("&Find an op"), QKeySequence::Find, [this] {
        m_palette->show();
        m_palette->focusSearch();
    });
    addAction(menu, tr("&Search actions and nodes"), QKeySequence(tr("Ctrl+Shift+P")),
              [this] { m_find->ask(QuickFind::Scope::all); });
}

void MainWindow::buildGraphMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Graph"));
    m_graphMenu = &menu;
    menu.setToolTipsVisible(true);
    QMenu& lanes = *menu.addMenu(tr("&Add lane"));
    m_common.addLane = &lanes;
    addAction(lanes, tr("cpu lane"), QKeySequence(tr("Ctrl+Alt+C")),
              [this] { edit(addLane(m_document.graph(), Device::cpu())); });
    addAction(lanes, tr("Next cuda lane"), QKeySequence(tr("Ctrl+Alt+G")),
              [this] { edit(addLane(m_document.graph(), nextGpu(m_document.graph()))); });
    addAction(lanes, tr("auto lane"), QKeySequence(tr("Ctrl+Alt+A")),
              [this] { edit(addLane(m_document.graph(), Device::automatic())); });
    fillLaneActions(*menu.addMenu(tr("&Lane")));
    m_common.addOp =
        addAction(menu, tr("Add an o&p…"), QKeySequence(tr("Ins")), [this] { m_canvas->requestOp(); });
    m_common.addOp->setToolTip(
        tr("Searches for an op and puts it under the pointer. On the canvas, Shift+A and a "
           "double click do the same."));
    m_laneMenu = menu.addMenu(tr("&Send to lane"));
    connect(m_laneMenu, &QMenu::aboutToShow, this, &MainWindow::fillLaneMenu);
    fillLaneMenu();
    menu.addSeparator();
    m_common.insertTo = addAction(menu, tr("Insert &To"), QKeySequence(tr("Ctrl+T")), [this] {
        attempt(tr("Cannot insert a To"), [this] {
            Delta delta = insertTo(m_document.graph(), m_document.selection());
            if (delta.empty()) m_status->say(tr("Select an edge between two lanes, or its consumer."));
            edit(std::move(delta));
        });
    });
    fillDotActions(menu);
    m_moduleMenu = menu.addMenu(tr("&Module"));
    fillModuleMenu(*m_moduleMenu);
    m_foldAction = addAction(menu, tr("F&old parameters"), QKeySequence(tr("Ctrl+Alt+F")),
                             [this] { edit(fold(m_document.graph(), selectedNodes())); });
    m_unfoldAction = addAction(menu, tr("&Unfold parameters"), QKeySequence(tr("Ctrl+Alt+U")),
                               [this] { edit(unfold(m_document.graph(), selectedNodes())); });
    m_disableAction = addAction(menu, tr("Disa&ble"), QKeySequence(tr("M")),
                                [this] { edit(toggleDisabled(m_document.graph(), m_document.selection())); });
    m_disableAction->setToolTip(tr("A disabled node does not run. Its consumers read its first input with "
                                   "the dtype and shape of its output; if there is none, they do not run."));
    // A shortcut of a single letter works only on the canvas; elsewhere the letter is typed.
    m_disableAction->setShortcutContext(Qt::WidgetShortcut);
    m_canvas->QWidget::addAction(m_disableAction);
    m_common.addNote =
        addAction(menu, tr("Add &note…"), QKeySequence(tr("Ctrl+Alt+N")), [this] { addNoteInView(); });
    menu.addSeparator();
    fillAnalysisMenu(*menu.addMenu(tr("A&nalyse")));
    addAction(menu, tr("Apply first &fix"), QKeySequence(tr("Ctrl+.")), [this] { applyFirstFix(); });
    addAction(menu, tr("Ne&xt problem"), QKeySequence(tr("F8")), [this] {
        showProblems();
        m_problems->step(1);
    });
    addAction(menu, tr("&Previous problem"), QKeySequence(tr("Shift+F8")), [this] {
        showProblems();
        m_problems->step(-1);
    });
}

void MainWindow::fillDotActions(QMenu& menu) {
    m_addDotAction = addAction(menu, tr("Add a d&ot to the wire"), QKeySequence(tr(".")), [this] {
        if (!m_canvas->addDot()) m_status->say(tr("Select a wire or a dot, or point at a wire."));
    });
    m_addDotAction->setToolTip(
        tr("The wire runs through its dots. Double-click a wire, or drag it with Shift, to add one."));
    m_addDotAction->setShortcutContext(Qt::WidgetShortcut);
    m_canvas->QWidget::addAction(m_addDotAction);
    m_straightenAction = addAction(menu, tr("Strai&ghten wire"), QKeySequence(tr("Alt+.")), [this] {
        Delta delta = straighten(m_document.graph(), m_document.selection());
        if (delta.empty()) m_status->say(tr("Select a wire with dots, or a dot."));
        edit(std::move(delta));
    });
    m_straightenAction->setToolTip(tr("Removes all dots of the selected wire."));
}

/// Applies to the selection or, without one, to all nodes.
void MainWindow::fillLaneMenu() {
    const Graph& graph = m_document.graph();
    const bool all = m_document.selection().nodes.empty();
    m_laneMenu->clear();
    m_laneMenu->setTitle(all ? tr("&Send all to lane") : tr("&Send to lane"));
    m_laneMenu->setEnabled(!graph.nodes().empty());
    int number = 0;
    const auto nodes = [this] {
        Selection what = m_document.selection();
        if (what.nodes.empty())
            for (const Node& node : m_document.graph().nodes()) what.nodes.insert(node.id);
        return what;
    };
    for (const Lane& lane : graph.lanesInOrder()) {
        QString text = toQt(lane.device.toString());
        if (!lane.title.empty()) text += QStringLiteral(" · ") + toQt(lane.title);
        QAction* action = m_laneMenu->addAction(
            text, this, [this, nodes, id = lane.id] { edit(sendToLane(m_document.graph(), nodes(), id)); });
        if (++number <= 9) action->setShortcut(QKeySequence(QStringLiteral("Ctrl+Alt+%1").arg(number)));
    }
    m_laneMenu->addSeparator();
    const Device gpu = nextGpu(graph);
    m_laneMenu
        ->addAction(tr("New %1 lane").arg(toQt(gpu.toString())), this,
                    [this, nodes, gpu] { edit(sendToNewLane(m_document.graph(), nodes(), gpu)); })
        ->setShortcut(QKeySequence(tr("Ctrl+Alt+0")));
}

void MainWindow::buildRunMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Run"));
    m_runAction = addAction(menu, tr("&Run"), QKeySequence(tr("F5")), [this] { run(); });
    m_continuousAction =
        addAction(menu, tr("Run &continuously"), QKeySequence(tr("Ctrl+F5")), [this] { runContinuously(); });
    m_stopAction = addAction(menu, tr("&Stop"), QKeySequence(tr("Shift+F5")), [this] { m_runs.stop(); });
    m_stepAction = addAction(menu, tr("St&ep"), QKeySequence(tr("F10")), [this] { m_runs.step(); });
    m_breakpointMenu = menu.addMenu(tr("&Breakpoint"));
    fillBreakpointMenu(*m_breakpointMenu);
    menu.addSeparator();
    addAction(menu, tr("&Iterations"), QKeySequence(tr("Ctrl+I")), [this] { m_bar->focusIterations(); });
    QAction* tf32 = addAction(menu, tr("Allow &TF32 on real GPUs"), QKeySequence(tr("Ctrl+Shift+F5")), [] {});
    tf32->setCheckable(true);
    tf32->setToolTip(tr("Allows TF32 for f32 matmul and convolution, from the next run on."));
    connect(tf32, &QAction::toggled, this, [this](bool allows) { m_runs.setAllowsTf32(allows); });
    addAction(menu, tr("&Strict policy"), QKeySequence(tr("Ctrl+Alt+S")),
              [this] { setPolicy(Policy::strict); });
    addAction(menu, tr("I&mplicit policy"), QKeySequence(tr("Ctrl+Alt+I")),
              [this] { setPolicy(Policy::implicit); });
    buildGuardMenu(*menu.addMenu(tr("&Guard policy")));
}

/// Check marks show each direction's action; they are updated when the menu opens.
void MainWindow::buildGuardMenu(QMenu& menu) {
    const auto setGuard = [this](Policy::Direction direction, Policy::Action action) {
        setPolicy(guardWith(m_document.graph().info().policy, direction, action));
    };
    const std::array directions{std::pair{Policy::Direction::hostToDevice, tr("&Host to device")},
                                std::pair{Policy::Direction::deviceToHost, tr("&Device to host")},
                                std::pair{Policy::Direction::deviceToDevice, tr("Device to device")}};
    const std::array actions{std::pair{Policy::Action::allow, tr("&Allow")},
                             std::pair{Policy::Action::log, tr("&Log")},
                             std::pair{Policy::Action::disallow, tr("D&isallow")}};
    for (const auto& [direction, title] : directions) {
        QMenu& choices = *menu.addMenu(title);
        auto* const group = new QActionGroup(&choices);
        for (const auto& [action, name] : actions) {
            QAction* const choice =
                choices.addAction(name, this, [=, this, d = direction, a = action] { setGuard(d, a); });
            choice->setCheckable(true);
            group->addAction(choice);
            connect(&choices, &QMenu::aboutToShow, choice, [=, this, d = direction, a = action] {
                const Policy policy = m_document.graph().info().policy;
                choice->setChecked(policy.actionFor(d) == a);
            });
        }
    }
}

void MainWindow::buildViewMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&View"));
    addAction(menu, tr("Zoom &in"), QKeySequence::ZoomIn, [this] { m_canvas->zoomIn(); });
    addAction(menu, tr("Zoom &out"), QKeySequence::ZoomOut, [this] { m_canvas->zoomOut(); });
    m_common.fit =
        addAction(menu, tr("Zoom to &fit"), QKeySequence(tr("Ctrl+0")), [this] { m_canvas->zoomToFit(); });
    addAction(menu, tr("Zoom to 100 %"), QKeySequence(tr("Ctrl+1")), [this] { m_canvas->zoom100(); });
    addAction(menu, tr("Zoom to &selection"), QKeySequence(tr("Ctrl+2")),
              [this] { m_canvas->zoomToSelection(); });
    fillGoMenu(*menu.addMenu(tr("&Go")));
    menu.addSeparator();
    const auto addPanel = [&](const QString& text, const QString& shortcut, QWidget* panel) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [] {});
        action->setCheckable(true);
        action->setChecked(true);
        connect(action, &QAction::toggled, panel, &QWidget::setVisible);
    };
    addPanel(tr("&Palette"), tr("F9"), m_palette);
    addPanel(tr("&Inspector"), tr("Ctrl+F9"), m_inspector);
    addPanel(tr("&Bottom panel"), tr("Shift+F9"), m_bottom);
    QAction* minimap = addAction(menu, tr("&Minimap"), QKeySequence(tr("Ctrl+M")), [] {});
    minimap->setCheckable(true);
    minimap->setChecked(true);
    connect(minimap, &QAction::toggled, m_canvas, &CanvasWidget::setMinimapVisible);
    auto* const legend = new Legend(m_canvas);
    m_legendAction = addAction(menu, tr("Le&gend"), QKeySequence(tr("Shift+F1")), [] {});
    m_legendAction->setCheckable(true);
    connect(m_legendAction, &QAction::toggled, legend, &QWidget::setVisible);
    QMenu& heat = *menu.addMenu(tr("&Heat"));
    auto* shades = new QActionGroup(this);
    const std::tuple<HeatBy, QString, QString> heats[] = {
        {HeatBy::none, tr("&None"), tr("Ctrl+Shift+U")},
        {HeatBy::time, tr("By &time"), tr("Ctrl+Shift+I")},
        {HeatBy::bytes, tr("By &bytes"), tr("Ctrl+Shift+Y")}};
    for (const auto& [by, text, shortcut] : heats) {
        QAction* action =
            addAction(heat, text, QKeySequence(shortcut), [this, by = by] { m_canvas->setHeat(by); });
        action->setCheckable(true);
        action->setChecked(by == HeatBy::none);
        shades->addAction(action);
    }
    menu.addSeparator();
    const std::pair<QString, QString> pages[] = {{QStringLiteral("transfers"), tr("&Transfers")},
                                                 {QStringLiteral("timeline"), tr("Time&line")},
                                                 {QStringLiteral("memory"), tr("M&emory")},
                                                 {QStringLiteral("problems"), tr("P&roblems")},
                                                 {QStringLiteral("log"), tr("Lo&g")},
                                                 {QStringLiteral("nodes"), tr("&Node table")},
                                                 {QStringLiteral("history"), tr("Undo &history")},
                                                 {QStringLiteral("breakpoints"), tr("&Breakpoints")}};
    int number = 0;
    for (const auto& [key, text] : pages)
        addAction(menu, text, QKeySequence(QStringLiteral("Alt+%1").arg(++number)), [this, key = key] {
            m_bottom->show();
            m_bottom->showPage(key);
        });
    m_transfers->fillMenu(
        *menu.addMenu(tr("Transfer p&lot")),
        [this](QMenu& in, const QString& text, const QKeySequence& shortcut,
               const std::function<void()>& triggered) { return addAction(in, text, shortcut, triggered); });
    menu.addSeparator();
    QMenu& themes = *menu.addMenu(tr("T&heme"));
    auto* group = new QActionGroup(this);
    const QString present = settings::theme();
    const std::tuple<QString, QString, QString> choices[] = {
        {QStringLiteral("dark"), tr("&Dark"), tr("Ctrl+Alt+D")},
        {QStringLiteral("light"), tr("&Light"), tr("Ctrl+Alt+L")},
        {QString(), tr("&Same as system"), tr("Ctrl+Alt+Y")}};
    for (const auto& [key, text, shortcut] : choices) {
        QAction* action =
            addAction(themes, text, QKeySequence(shortcut), [this, key = key] { setTheme(key); });
        action->setCheckable(true);
        action->setChecked(key == present);
        action->setObjectName(QStringLiteral("theme.") + (key.isEmpty() ? QStringLiteral("system") : key));
        group->addAction(action);
    }
}

void MainWindow::refreshActions() {
    const Selection& selection = m_document.selection();
    const bool some = !selection.empty();
    for (QAction* action : m_needSelection) action->setEnabled(some);
    m_foldAction->setEnabled(some && !fold(m_document.graph(), selectedNodes()).empty());
    m_unfoldAction->setEnabled(some && !unfold(m_document.graph(), selectedNodes()).empty());
    const std::set<NodeId>& nodes = selection.nodes;
    m_disableAction->setEnabled(!nodes.empty());
    const bool enables = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [this](NodeId id) {
        return m_document.graph().find(id)->disabled;
    });
    m_disableAction->setText(enables ? tr("Ena&ble") : tr("Disa&ble"));
    const Frame* module = m_document.graph().find(moduleAtHand());
    for (QAction* action : m_needModule) action->setEnabled(module != nullptr);
    m_collapseAction->setText(module && module->collapsed ? tr("E&xpand module") : tr("C&ollapse module"));
    m_leaveAction->setEnabled(m_canvas->inside() != FrameId::none);
    fillLaneMenu();
    const bool running = m_runs.isRunning();
    m_continuousAction->setEnabled(!running);
    m_stopAction->setEnabled(running);
    refreshBreakpointActions();
}

} // namespace twb
