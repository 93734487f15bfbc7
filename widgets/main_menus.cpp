#include "graph/simplify.h"
#include "profile/resource_path.h"
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
#include "widgets/actions/menu_action.h"
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
#include "widgets/main_window.h"
#include "widgets/manual_window.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/plot_table.h"
#include "widgets/panels/transfers_panel.h"
#include "widgets/quick_find.h"
#include "widgets/settings.h"
#include "widgets/system_report.h"
#include "widgets/text.h"

#include <QApplication>
#include <QMenuBar>
#include <QTimer>

#include <initializer_list>

namespace twb {
namespace {

constexpr int kSettingsMs = 100; ///< until new settings are tried again

} // namespace

void MainWindow::editSettings(SettingsPage page) {
    if (!askForSettings(m_document.profiles(), findChildren<QAction*>(), page, this)) return;
    for (QWidget* window : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(window)) other->readSettings();
}

void MainWindow::readSettings() {
    if (isBusy(*this)) { // its work reads the document
        QTimer::singleShot(kSettingsMs, this, &MainWindow::readSettings);
        return;
    }
    for (QAction* action : findChildren<QAction*>()) readShortcut(*action);
    m_safety->readSettings();
    m_document.setStandIn(settings::profile(m_document.profiles()).toStdString());
    ViewActions::setTheme(settings::theme());
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
    m_files->fillNew(menu);
    twb::addAction(menu, tr("New &window"), QKeySequence(QStringLiteral("Ctrl+Shift+N")),
                   [this] { Q_EMIT windowRequested(); });
    m_files->fillOpen(menu);
    twb::addAction(menu, tr("Start &page"), QKeySequence(QStringLiteral("Ctrl+Alt+H")),
                   [this] { showStartPage(); });
    menu.addSeparator();
    m_files->fillSave(menu);
    m_exports->fill(menu);
    menu.addSeparator();
    twb::addAction(menu, tr("&Close window"), QKeySequence(QStringLiteral("Ctrl+W")), [this] { close(); });
    twb::addAction(menu, tr("&Quit"), QKeySequence(QStringLiteral("Ctrl+Q")), [this] {
        Q_EMIT quitRequested();
    })->setMenuRole(QAction::QuitRole);
}

void MainWindow::buildEditMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Edit"));
    m_edits->fillHistory(menu);
    menu.addSeparator();
    m_edits->fill(menu);
    m_rename = needSelection(twb::addAction(menu, tr("&Rename"), QKeySequence(QStringLiteral("F2")),
                                            [this] { m_inspector->editName(); }),
                             m_document, Part::oneNode);
    menu.addSeparator();
    twb::addAction(menu, tr("Se&ttings…"), QKeySequence(QStringLiteral("Ctrl+,")),
                   [this] { editSettings(SettingsPage::general); });
    twb::addAction(menu, tr("&Find an op"), QKeySequence::Find, [this] {
        m_palette->show();
        m_palette->focusSearch();
    });
    twb::addAction(menu, tr("&Search actions and nodes"), QKeySequence(QStringLiteral("Ctrl+Shift+P")),
                   [this] { m_find->ask(QuickFind::Scope::all); });
}

void MainWindow::buildGraphMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Graph"));
    menu.setToolTipsVisible(true);
    m_lanes->fillAddMenu(*menu.addMenu(tr("&Add lane")));
    m_lanes->fillLaneMenu(*menu.addMenu(tr("&Lane")));
    m_adds->fillOp(menu);
    m_lanes->keepSendMenu(*menu.addMenu(tr("&Send to lane")));
    menu.addSeparator();
    m_nodes->fillWireActions(menu);
    m_modules->fill(*menu.addMenu(tr("&Module")));
    m_nodes->fillNodeActions(menu);
    m_adds->fillNote(menu);
    menu.addSeparator();
    twb::addAction(menu, tr("S&implify"), QKeySequence(QStringLiteral("Alt+Shift+I")),
                   [this] { simplifyGraph(); })
        ->setToolTip(tr("Computes constants, removes nodes without effect, and replaces each group of "
                        "composed ops with one "
                        "op."));
    m_analysis->fill(*menu.addMenu(tr("A&nalyse")));
    m_learning->fill(*menu.addMenu(tr("&Training")));
    m_precision->fill(*menu.addMenu(tr("Pre&cision")));
    twb::addAction(menu, tr("Apply first &fix"), QKeySequence(QStringLiteral("Ctrl+.")),
                   [this] { m_fixes->applyFirst(); });
    const auto step = [this](int by) {
        showProblems();
        m_problems->step(by);
    };
    twb::addAction(menu, tr("Ne&xt problem"), QKeySequence(QStringLiteral("F8")), [step] { step(1); });
    twb::addAction(menu, tr("&Previous problem"), QKeySequence(QStringLiteral("Shift+F8")),
                   [step] { step(-1); });
}

void MainWindow::buildRunMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Run"));
    m_runActions->fillRuns(menu);
    m_runThere->fill(menu);
    m_watch->fill(menu);
    m_traces->fill(menu);
    m_breakpoints->fill(*menu.addMenu(tr("&Breakpoint")));
    menu.addSeparator();
    m_runActions->fillOptions(menu);
}

void MainWindow::buildViewMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&View"));
    m_view->fillZoom(menu);
    m_navigation->fill(*menu.addMenu(tr("&Go")));
    menu.addSeparator();
    m_view->fillPanels(menu, *m_palette, *m_inspector, *m_bottom, *m_layout);
    menu.addSeparator();
    m_view->fillPages(menu, *m_bottom);
    m_transfers->fillMenu(*menu.addMenu(tr("Transfer p&lot")), twb::addAction);
    twb::addAction(menu, tr("Show plot as table"), QKeySequence(QStringLiteral("Alt+Shift+V")), [this] {
        PlotTable* table = PlotTable::in(*m_bottom->currentPage());
        if (table)
            table->show();
        else
            m_editor->say(
                tr("No plot here. Choose Transfers, Timeline, Memory or Training, and run the graph."),
                Severity::note);
    });
    menu.addSeparator();
    m_overlay->fill(menu);
    menu.addSeparator();
    m_view->fillThemes(*menu.addMenu(tr("T&heme")));
}

void MainWindow::buildHelpMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Help"));
    twb::addAction(menu, tr("&Manual"), QKeySequence(QStringLiteral("F1")), [this] { showManual(); });
    needSelection(twb::addAction(menu, tr("Help for the selected &op"),
                                 QKeySequence(QStringLiteral("Alt+F1")),
                                 [this] {
                                     m_inspector->show();
                                     m_inspector->openHelp();
                                 }),
                  m_document, Part::nodes);
    twb::addAction(menu, tr("&Keys…"), QKeySequence(QStringLiteral("Ctrl+Shift+K")),
                   [this] { editSettings(SettingsPage::shortcuts); });
    menu.addAction(m_view->legend());
    menu.addSeparator();
    twb::addAction(menu, tr("&About Tensor Workbench"), QKeySequence(QStringLiteral("Ctrl+F1")),
                   [this] { showAbout(m_document.devices(), this); });
}

void MainWindow::simplifyGraph() {
    const auto files = m_document.files();
    m_editor->attempt(tr("Cannot simplify the graph"), [&] {
        Simplified simpler;
        const bool isDone = workCancellable(tr("Simplifying the graph…"), this,
                                            [&, graph = m_document.graph()](const auto& isCancelled) {
                                                SimplifyOptions options;
                                                options.files = files.get();
                                                options.isCancelled = isCancelled;
                                                simpler = simplify(graph, options);
                                            });
        if (!isDone) return;
        const bool isSimple = simpler.delta.empty();
        m_editor->edit(std::move(simpler.delta));
        for (const std::string& change : simpler.remarks) m_log->add(Severity::note, toQt(change));
        if (!simpler.remarks.empty())
            m_editor->say(toQt(simpler.remarks.front()));
        else if (isSimple)
            m_editor->say(tr("Nothing to simplify."));
    });
}

void MainWindow::showManual() {
    m_editor->attempt(tr("The manual cannot be opened"), [this] {
        if (!m_manual) m_manual = new ManualWindow(toQt((resourceFolder() / "manual").string()), this);
        m_manual->show();
        m_manual->raise();
        m_manual->activateWindow();
    });
}

/// The most useful actions for the clicked item; the menu bar has all actions.
void MainWindow::showContextMenu(const Hit& what, QPoint at) {
    QMenu menu(this);
    menu.setObjectName(QStringLiteral("contextMenu"));
    const auto addGroup = [&](std::initializer_list<QAction*> actions) {
        if (!menu.isEmpty()) menu.addSeparator();
        for (QAction* action : actions)
            if (action->isEnabled()) menu.addAction(action);
    };
    const EditActions& edits = *m_edits;
    const NodeActions& nodes = *m_nodes;
    const ModuleActions& modules = *m_modules;
    QAction* send = m_lanes->sendMenu()->menuAction();
    const Selection& selection = m_document.selection();
    if (what.kind == Hit::Kind::frame) {
        addGroup({modules.open(), modules.collapse(), modules.rename(), modules.colors()->menuAction(),
                  modules.update()});
        addGroup({send, edits.duplicate(), modules.dissolve(), edits.remove()});
    } else if (selection.edge) {
        addGroup({nodes.insertTo(), nodes.addDot(), nodes.straightenWire()});
        addGroup({edits.remove()});
    } else if (!selection.nodes.empty()) {
        if (selection.nodes.size() == 1)
            addGroup({m_rename, send, nodes.disable(), nodes.fold(), nodes.unfold()});
        else
            addGroup({send, edits.align()->menuAction(), nodes.disable(), nodes.fold(), nodes.unfold()});
        addGroup({modules.menu()->menuAction(), m_breakpoints->menu()->menuAction()});
        addGroup({edits.cut(), edits.copy(), edits.duplicate(), edits.remove(), edits.removeThrough()});
    } else if (!selection.dots.empty()) {
        addGroup({nodes.straightenWire(), edits.remove()});
    } else if (!selection.notes.empty()) {
        if (selection.notes.size() == 1)
            menu.addAction(tr("&Edit note…"), this,
                           [this, id = *selection.notes.begin()] { m_adds->editNote(id); });
        addGroup({edits.cut(), edits.copy(), edits.duplicate(), edits.remove()});
    } else {
        addGroup({m_adds->addOp(), edits.paste(), m_adds->addNote(), m_lanes->addMenu()->menuAction()});
        addGroup({edits.selectAll(), m_view->fit(), modules.leave()});
    }
    menu.exec(at);
}

} // namespace twb
