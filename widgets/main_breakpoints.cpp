#include "widgets/breakpoint_dialog.h"
#include "widgets/breakpoint_edits.h"
#include "widgets/main_window.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/text.h"

#include <QMenu>

#include <algorithm>

namespace twb {

void MainWindow::fillBreakpointMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto toggles = [this](Breakpoint::Kind kind) {
        return [this, kind] {
            Breakpoint breakpoint;
            breakpoint.kind = kind;
            edit(toggleBreakpoint(m_document.graph(), m_document.selection().nodes, breakpoint));
        };
    };
    using Kind = Breakpoint::Kind;
    const std::tuple<Kind, QString, QString> kinds[] = {
        {Kind::after, tr("Stop &after the node"), tr("B")},
        {Kind::before, tr("Stop &before the node"), tr("Shift+B")},
        {Kind::nanOrInf, tr("Stop on &NaN or inf"), tr("Ctrl+Alt+Q")}};
    for (const auto& [kind, text, shortcut] : kinds) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), toggles(kind));
        action->setCheckable(true);
        m_breakpointKinds.push_back({kind, action});
        m_needSelection.push_back(action);
        if (kind == Kind::nanOrInf) continue;
        // As of M: elsewhere it is typed.
        action->setShortcutContext(Qt::WidgetShortcut);
        m_canvas->QWidget::addAction(action);
    }
    QAction* condition =
        addAction(menu, tr("Stop on a &condition…"), QKeySequence(tr("Alt+Shift+B")), [this] {
            if (!m_document.selection().nodes.empty()) askForCondition(selectedNodes());
        });
    condition->setCheckable(true);
    m_breakpointKinds.push_back({Kind::condition, condition});
    m_needSelection.push_back(condition);
    menu.addSeparator();
    m_breakpointEnable = addAction(menu, tr("&Disable breakpoint"), QKeySequence(tr("Ctrl+Alt+V")), [this] {
        const std::set<NodeId>& nodes = m_document.selection().nodes;
        const bool anyOn = std::any_of(nodes.begin(), nodes.end(), [this](NodeId id) {
            const auto& breakpoint = m_document.graph().find(id)->breakpoint;
            return breakpoint && breakpoint->enabled;
        });
        edit(enableBreakpoints(m_document.graph(), nodes, !anyOn));
    });
    addAction(menu, tr("&Remove all breakpoints"), QKeySequence(tr("Ctrl+Alt+X")), [this] {
        std::set<NodeId> nodes;
        for (const auto& [id, breakpoint] : breakpointsOf(m_document.graph())) nodes.insert(id);
        edit(setBreakpoint(m_document.graph(), nodes, std::nullopt));
    });
}

/// One condition for all of them; what the first has is what the dialog begins with.
void MainWindow::askForCondition(const std::vector<NodeId>& nodes) {
    const Node* first = m_document.graph().find(nodes.front());
    const bool has = first->breakpoint && first->breakpoint->kind == Breakpoint::Kind::condition;
    const QString name =
        nodes.size() == 1 ? toQt(first->name) : tr("each of %1 nodes").arg(grouped(qint64(nodes.size())));
    BreakpointDialog dialog(name, has ? *first->breakpoint : Breakpoint(), this);
    const bool accepted = dialog.exec() == QDialog::Accepted;
    if (accepted) edit(setBreakpoint(m_document.graph(), {nodes.begin(), nodes.end()}, dialog.breakpoint()));
    refreshBreakpointActions(); // a click has turned its mark over
}

BreakpointsPanel* MainWindow::makeBreakpointsPanel() {
    auto* panel = new BreakpointsPanel(m_document, m_runs);
    connect(panel, &BreakpointsPanel::nodeChosen, this, [this](NodeId id) {
        m_document.select({{id}, {}, std::nullopt});
        m_canvas->reveal(id);
    });
    connect(panel, &BreakpointsPanel::conditionWanted, this, [this](NodeId id) { askForCondition({id}); });
    connect(panel, &BreakpointsPanel::filled, this,
            [this, panel](bool some) { m_bottom->setTabVisible(panel, some); });
    connect(panel, &BreakpointsPanel::removed, this, [this](const std::set<NodeId>& nodes) {
        edit(setBreakpoint(m_document.graph(), nodes, std::nullopt));
    });
    connect(&m_runs, &RunController::stopped, this, &MainWindow::showStop);
    connect(&m_runs, &RunController::stopped, this, &MainWindow::refreshActions);
    connect(&m_runs, &RunController::resumed, this, &MainWindow::refreshActions);
    return panel;
}

/// Where the run stands, with its tensor beside it.
void MainWindow::showStop() {
    const NodeId node = m_runs.state().stop->node;
    m_inspector->show();
    if (const std::optional<Edge> edge = m_runs.stoppedEdge()) {
        m_document.select({{}, {}, *edge});
        m_canvas->reveal(edge->to.node);
    } else if (m_document.graph().find(node)) {
        m_document.select({{node}, {}, std::nullopt});
        m_canvas->reveal(node);
    }
}

void MainWindow::refreshBreakpointActions() {
    const std::set<NodeId>& nodes = m_document.selection().nodes;
    const auto all = [&](auto holds) {
        return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            const std::optional<Breakpoint>& breakpoint = m_document.graph().find(id)->breakpoint;
            return breakpoint && holds(*breakpoint);
        });
    };
    for (const auto& [kind, action] : m_breakpointKinds)
        action->setChecked(all([kind = kind](const Breakpoint& b) { return b.kind == kind; }));
    const bool some = std::any_of(nodes.begin(), nodes.end(), [this](NodeId id) {
        return m_document.graph().find(id)->breakpoint.has_value();
    });
    const bool off = all([](const Breakpoint& b) { return !b.enabled; });
    m_breakpointEnable->setEnabled(some);
    m_breakpointEnable->setText(off ? tr("&Enable breakpoint") : tr("&Disable breakpoint"));
    m_stepAction->setEnabled(m_runs.isStopped());
    m_runAction->setEnabled(!m_runs.isRunning() || m_runs.isStopped());
    m_runAction->setText(m_runs.isStopped() ? tr("&Continue") : tr("&Run"));
}

} // namespace twb
