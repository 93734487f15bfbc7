#include "widgets/actions/breakpoint_actions.h"

#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/breakpoint_dialog.h"
#include "widgets/breakpoint_edits.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/panels/breakpoints_panel.h"
#include "widgets/text.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace twb {

BreakpointActions::BreakpointActions(Document& document, CanvasWidget& canvas, GraphEditor& editor,
                                     QWidget& window)
    : m_document(document), m_canvas(canvas), m_editor(editor), m_window(window) {}

void BreakpointActions::fill(QMenu& menu) {
    m_menu = &menu;
    menu.setToolTipsVisible(true);
    const auto toggles = [this](Breakpoint::Kind kind) {
        return [this, kind] {
            Breakpoint breakpoint;
            breakpoint.kind = kind;
            m_editor.edit(toggleBreakpoint(m_document.graph(), m_document.selection().nodes, breakpoint));
        };
    };
    using Kind = Breakpoint::Kind;
    const std::tuple<Kind, QString, QString> kinds[] = {
        {Kind::after, tr("Pause &after the node"), QStringLiteral("B")},
        {Kind::before, tr("Pause &before the node"), QStringLiteral("Shift+B")},
        {Kind::nanOrInf, tr("Pause on &NaN or inf"), QStringLiteral("Ctrl+Alt+Q")}};
    for (const auto& [kind, text, shortcut] : kinds) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), toggles(kind));
        action->setCheckable(true);
        m_kinds.push_back({kind, action});
        needSelection(action, m_document, Part::nodes);
        if (kind != Kind::nanOrInf) keepOnCanvas(*action, m_canvas);
    }
    QAction* condition =
        addAction(menu, tr("Pause on a &condition…"), QKeySequence(QStringLiteral("Alt+Shift+B")), [this] {
            const std::set<NodeId>& nodes = m_document.selection().nodes;
            if (!nodes.empty()) askForCondition(std::vector<NodeId>(nodes.begin(), nodes.end()));
        });
    needSelection(condition, m_document, Part::nodes);
    menu.addSeparator();
    m_enable =
        addAction(menu, tr("&Disable breakpoints"), QKeySequence(QStringLiteral("Ctrl+Alt+V")), [this] {
            const std::vector<Breakpoint> all = atHand();
            const bool anyOn =
                std::any_of(all.begin(), all.end(), [](const Breakpoint& b) { return b.enabled; });
            m_editor.edit(enableBreakpoints(m_document.graph(), m_document.selection().nodes, !anyOn));
        });
    addAction(menu, tr("&Remove all breakpoints"), QKeySequence(QStringLiteral("Ctrl+Alt+X")), [this] {
        m_editor.edit(removeBreakpoints(m_document.graph(), allBreakpoints(m_document.graph())));
    });
    connect(&m_document, &Document::changed, this, &BreakpointActions::refresh);
    for (const auto signal : {&Document::reset, &Document::selectionChanged})
        connect(&m_document, signal, this, &BreakpointActions::refresh);
    refresh();
}

/// The breakpoints of the selected nodes.
std::vector<Breakpoint> BreakpointActions::atHand() const {
    std::vector<Breakpoint> out;
    for (const NodeId id : m_document.selection().nodes) {
        const Breakpoints& these = m_document.graph().find(id)->breakpoints;
        out.insert(out.end(), these.begin(), these.end());
    }
    return out;
}

/// Adds a breakpoint to all nodes; an existing one is changed in the list.
void BreakpointActions::askForCondition(const std::vector<NodeId>& nodes) {
    if (const auto condition = conditionFor(nodes, Breakpoint()))
        m_editor.edit(addBreakpoint(m_document.graph(), {nodes.begin(), nodes.end()}, *condition));
}

std::optional<Breakpoint> BreakpointActions::conditionFor(const std::vector<NodeId>& nodes,
                                                          const Breakpoint& start) {
    const Graph& graph = m_document.graph();
    const QString name = nodes.size() == 1 ? toQt(graph.find(nodes.front())->name)
                                           : tr("each of %1 nodes").arg(grouped(qint64(nodes.size())));
    const bool hasInputs = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const std::vector<std::optional<PortRef>>& inputs = graph.inputs(id);
        return std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.has_value(); });
    });
    BreakpointDialog dialog(name, start, hasInputs || start.kind == Breakpoint::Kind::input, &m_window);
    if (dialog.exec() != QDialog::Accepted) return std::nullopt;
    Breakpoint out = dialog.breakpoint();
    out.enabled = start.enabled;
    return out;
}

void BreakpointActions::serve(BreakpointsPanel& panel) {
    connect(&panel, &BreakpointsPanel::nodeChosen, this, [this](NodeId id) {
        m_document.select({{id}, {}, std::nullopt});
        m_canvas.navigator().reveal(id);
    });
    connect(&panel, &BreakpointsPanel::changeWanted, this, [this](const NodeBreakpoint& one) {
        if (!one.breakpoint.looks() || one.breakpoint.kind == Breakpoint::Kind::nanOrInf) return;
        if (const auto other = conditionFor({one.node}, one.breakpoint))
            m_editor.edit(changeBreakpoint(m_document.graph(), one, *other));
    });
    connect(&panel, &BreakpointsPanel::removed, this, [this](const std::vector<NodeBreakpoint>& these) {
        m_editor.edit(removeBreakpoints(m_document.graph(), these));
    });
}

void BreakpointActions::refresh() {
    const std::set<NodeId>& nodes = m_document.selection().nodes;
    for (const auto& [kind, action] : m_kinds)
        action->setChecked(!nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            const Breakpoints& these = m_document.graph().find(id)->breakpoints;
            return std::any_of(these.begin(), these.end(),
                               [&](const Breakpoint& one) { return one.kind == kind; });
        }));
    const std::vector<Breakpoint> all = atHand();
    const bool off = std::none_of(all.begin(), all.end(), [](const Breakpoint& b) { return b.enabled; });
    m_enable->setEnabled(!all.empty());
    m_enable->setText(off && !all.empty() ? tr("&Enable breakpoints") : tr("&Disable breakpoints"));
}

} // namespace twb
