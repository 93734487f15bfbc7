#include "widgets/actions/node_actions.h"

#include "graph/folding.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/graph_edits.h"
#include "widgets/wire_edits.h"

#include <algorithm>

namespace twb {

NodeActions::NodeActions(Document& document, CanvasWidget& canvas, GraphEditor& editor)
    : m_document(document), m_canvas(canvas), m_editor(editor) {}

void NodeActions::fillWireActions(QMenu& menu) {
    m_insertTo = addAction(menu, tr("Insert &To"), QKeySequence(QStringLiteral("Ctrl+T")), [this] {
        m_editor.attempt(tr("Cannot insert a To"), [this] {
            Delta delta = twb::insertTo(m_document.graph(), m_document.selection());
            if (delta.empty()) m_editor.say(tr("Select an edge between two lanes, or its consumer."));
            m_editor.edit(std::move(delta));
        });
    });
    m_addDot = addAction(menu, tr("Add a d&ot to the wire"), QKeySequence(QStringLiteral(".")), [this] {
        if (!m_canvas.commands().addDot()) m_editor.say(tr("Select a wire or a dot, or point at a wire."));
    });
    m_addDot->setToolTip(
        tr("A wire bends at its dots. Double-click a wire, or drag it with Shift, to add a dot."));
    keepOnCanvas(*m_addDot, m_canvas);
    m_straighten = addAction(menu, tr("Strai&ghten wire"), QKeySequence(QStringLiteral("Alt+.")), [this] {
        Delta delta = straighten(m_document.graph(), m_document.selection());
        if (delta.empty()) m_editor.say(tr("Select a wire with dots (bends), or one of its dots."));
        m_editor.edit(std::move(delta));
    });
    m_straighten->setToolTip(tr("Removes all dots of the selected wire."));
}

void NodeActions::fillNodeActions(QMenu& menu) {
    m_fold = addAction(menu, tr("F&old parameters into cards"), QKeySequence(QStringLiteral("Ctrl+Alt+F")),
                       [this] { m_editor.edit(twb::fold(m_document.graph(), selectedNodes())); });
    m_unfold =
        addAction(menu, tr("&Unfold parameters from cards"), QKeySequence(QStringLiteral("Ctrl+Alt+U")),
                  [this] { m_editor.edit(twb::unfold(m_document.graph(), selectedNodes())); });
    m_fold->setToolTip(tr("Draws parameters as rows on the card of their consumer. The run stays the same."));
    m_unfold->setToolTip(tr("Draws each parameter as a card of its own."));
    m_disable = addAction(menu, tr("Disa&ble"), QKeySequence(QStringLiteral("M")), [this] {
        m_editor.edit(toggleDisabled(m_document.graph(), m_document.selection()));
    });
    m_disable->setToolTip(
        tr("The run skips the node. Its consumers read the first of the node's inputs that has the "
           "dtype and shape of the node's output. Without such an input, the consumers do not "
           "run."));
    keepOnCanvas(*m_disable, m_canvas);
    connect(&m_document, &Document::changed, this, &NodeActions::refresh);
    for (const auto signal : {&Document::reset, &Document::selectionChanged})
        connect(&m_document, signal, this, &NodeActions::refresh);
    refresh();
}

std::vector<NodeId> NodeActions::selectedNodes() const {
    const std::set<NodeId>& nodes = m_document.selection().nodes;
    return {nodes.begin(), nodes.end()};
}

void NodeActions::refresh() {
    const std::vector<NodeId> nodes = selectedNodes();
    m_fold->setEnabled(!nodes.empty() && !twb::fold(m_document.graph(), nodes).empty());
    m_unfold->setEnabled(!nodes.empty() && !twb::unfold(m_document.graph(), nodes).empty());
    m_disable->setEnabled(!nodes.empty());
    const bool enables = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [this](NodeId id) {
        return m_document.graph().find(id)->disabled;
    });
    m_disable->setText(enables ? tr("Ena&ble") : tr("Disa&ble"));
}

} // namespace twb
