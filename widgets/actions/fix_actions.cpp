#include "widgets/actions/fix_actions.h"

#include "placement/fixes.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/graph_edits.h"

namespace twb {

FixActions::FixActions(Document& document, CanvasWidget& canvas, GraphEditor& editor)
    : m_document(document), m_canvas(canvas), m_editor(editor) {}

void FixActions::apply(const Fix& fix) {
    m_canvas.setFocus(); // the button is deleted with its problem
    m_editor.attempt(tr("Cannot apply the fix"), [&] {
        m_editor.edit(
            combineFixes(m_document.graph(), m_document.analysis(), m_document.devices(), {fix}, fix.title));
    });
}

void FixActions::applyAll(const std::vector<Fix>& fixes, const QString& title) {
    m_canvas.setFocus();
    m_editor.attempt(tr("Cannot apply the fixes"), [&] {
        m_editor.edit(combineFixes(m_document.graph(), m_document.analysis(), m_document.devices(), fixes,
                                   title.toStdString()));
    });
}

void FixActions::applyFirst() {
    const std::set<NodeId>& selected = m_document.selection().nodes;
    const Diagnostic* chosen = nullptr;
    for (const Diagnostic& d : m_document.analysis().diagnostics) {
        if (d.fixes.empty()) continue;
        if (!chosen) chosen = &d;
        if (!selected.contains(d.node)) continue;
        chosen = &d;
        break;
    }
    if (!chosen) return m_editor.say(tr("None of the problems has a fix."));
    apply(Fix(chosen->fixes.front()));
}

} // namespace twb
