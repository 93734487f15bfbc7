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
        // As for M, the shortcut works only on the canvas; elsewhere the letter is typed.
        action->setShortcutContext(Qt::WidgetShortcut);
        m_canvas->QWidget::addAction(action);
    }
    QAction* condition =
        addAction(menu, tr("Stop on a &condition…"), QKeySequence(tr("Alt+Shift+B")), [this] {
            if (!m_document.selection().nodes.empty()) askForCondition(selectedNodes());
        });
    m_needSelection.push_back(condition);
    menu.addSeparator();
    m_breakpointEnable = addAction(menu, tr("&Disable breakpoints"), QKeySequence(tr("Ctrl+Alt+V")), [this] {
        const std::vector<Breakpoint> all = breakpointsAtHand();
        const bool anyOn = std::any_of(all.begin(), all.end(), [](const Breakpoint& b) { return b.enabled; });
        edit(enableBreakpoints(m_document.graph(), m_document.selection().nodes, !anyOn));
    });
    addAction(menu, tr("&Remove all breakpoints"), QKeySequence(tr("Ctrl+Alt+X")),
              [this] { edit(removeBreakpoints(m_document.graph(), allBreakpoints(m_document.graph()))); });
}

/// The breakpoints of the selected nodes.
std::vector<Breakpoint> MainWindow::breakpointsAtHand() const {
    std::vector<Breakpoint> out;
    for (const NodeId id : m_document.selection().nodes) {
        const Breakpoints& these = m_document.graph().find(id)->breakpoints;
        out.insert(out.end(), these.begin(), these.end());
    }
    return out;
}

/// Adds a breakpoint to all nodes; an existing one is changed in the list.
void MainWindow::askForCondition(const std::vector<NodeId>& nodes) {
    if (const auto condition = conditionFor(nodes, Breakpoint()))
        edit(addBreakpoint(m_document.graph(), {nodes.begin(), nodes.end()}, *condition));
}

std::optional<Breakpoint> MainWindow::conditionFor(const std::vector<NodeId>& nodes,
                                                   const Breakpoint& start) {
    const Graph& graph = m_document.graph();
    const QString name = nodes.size() == 1 ? toQt(graph.find(nodes.front())->name)
                                           : tr("each of %1 nodes").arg(grouped(qint64(nodes.size())));
    const bool hasInputs = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const std::vector<std::optional<PortRef>>& inputs = graph.inputs(id);
        return std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.has_value(); });
    });
    BreakpointDialog dialog(name, start, hasInputs || start.kind == Breakpoint::Kind::input, this);
    if (dialog.exec() != QDialog::Accepted) return std::nullopt;
    Breakpoint out = dialog.breakpoint();
    out.enabled = start.enabled;
    return out;
}

BreakpointsPanel* MainWindow::makeBreakpointsPanel() {
    auto* panel = new BreakpointsPanel(m_document, m_runs);
    connect(panel, &BreakpointsPanel::nodeChosen, this, [this](NodeId id) {
        m_document.select({{id}, {}, std::nullopt});
        m_canvas->reveal(id);
    });
    connect(panel, &BreakpointsPanel::changeWanted, this, [this](const NodeBreakpoint& one) {
        if (!one.breakpoint.looks() || one.breakpoint.kind == Breakpoint::Kind::nanOrInf) return;
        if (const auto other = conditionFor({one.node}, one.breakpoint))
            edit(changeBreakpoint(m_document.graph(), one, *other));
    });
    connect(panel, &BreakpointsPanel::filled, this,
            [this, panel](bool some) { m_bottom->setTabVisible(panel, some); });
    connect(panel, &BreakpointsPanel::removed, this, [this](const std::vector<NodeBreakpoint>& these) {
        edit(removeBreakpoints(m_document.graph(), these));
    });
    connect(&m_runs, &RunController::stopped, this, &MainWindow::showStop);
    connect(&m_runs, &RunController::stopped, this, &MainWindow::refreshActions);
    connect(&m_runs, &RunController::resumed, this, &MainWindow::refreshActions);
    return panel;
}

/// Selects the node or wire at which the run is stopped, so that the inspector shows its tensor.
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
    for (const auto& [kind, action] : m_breakpointKinds)
        action->setChecked(!nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            const Breakpoints& these = m_document.graph().find(id)->breakpoints;
            return std::any_of(these.begin(), these.end(),
                               [&](const Breakpoint& one) { return one.kind == kind; });
        }));
    const std::vector<Breakpoint> all = breakpointsAtHand();
    const bool off = std::none_of(all.begin(), all.end(), [](const Breakpoint& b) { return b.enabled; });
    m_breakpointEnable->setEnabled(!all.empty());
    m_breakpointEnable->setText(off && !all.empty() ? tr("&Enable breakpoints") : tr("&Disable breakpoints"));
    m_stepAction->setEnabled(m_runs.isStopped());
    m_runAction->setEnabled(!m_runs.isRunning() || m_runs.isStopped());
    m_runAction->setText(m_runs.isStopped() ? tr("&Continue") : tr("&Run"));
}

} // namespace twb
