#include "widgets/actions/training_actions.h"

#include "training/mixed_precision.h"
#include "training/training.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/learn_dialog.h"

#include <utility>

namespace twb {
namespace {

/// The forward nodes of these nodes or, if they have none, the nodes that compute their gradients.
std::set<NodeId> partnersOf(const Graph& graph, const std::set<NodeId>& nodes) {
    std::set<NodeId> out;
    for (const NodeId id : nodes)
        if (const NodeId forward = graph.find(id)->forward; graph.find(forward)) out.insert(forward);
    if (!out.empty()) return out;
    for (const NodeId id : nodes)
        if (const std::optional<PortRef> gradient = gradientOf(graph, id)) out.insert(gradient->node);
    if (!out.empty()) return out;
    for (const Node& node : graph.nodes())
        if (nodes.contains(node.forward)) out.insert(node.id);
    return out;
}

} // namespace

TrainingActions::TrainingActions(Document& document, CanvasWidget& canvas, GraphEditor& editor,
                                 QWidget& window)
    : m_document(document), m_canvas(canvas), m_editor(editor), m_window(window) {}

void TrainingActions::fill(QMenu& menu) {
    addAction(menu, tr("&Add training…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+B")),
              [this] { addTraining(); });
    addAction(menu, tr("Mixed precision with &bf16"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+P")),
              [this] { mix(DType::bf16); });
    addAction(menu, tr("Mixed precision with &f16"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+F")),
              [this] { mix(DType::f16); });
    addAction(menu, tr("Go to &gradient or forward node"), QKeySequence(QStringLiteral("Ctrl+Shift+F")),
              [this] { goToPartners(); });
    addAction(menu, tr("&Remove training"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+L")),
              [this] { remove(); });
}

void TrainingActions::addTraining() {
    if (trainingOf(m_document.graph())) {
        m_editor.say(tr("The graph already has a training module. Remove it first."), Severity::warning);
        return;
    }
    LearnDialog dialog(m_document, &m_window);
    if (dialog.exec() != QDialog::Accepted) return;
    m_editor.attempt(tr("Cannot add training"), [&] {
        Delta delta;
        workWaiting(tr("Adding training…"), &m_window,
                    [&delta, document = m_document.snapshot(), loss = dialog.loss(),
                     parameters = dialog.parameters(), optimizer = dialog.optimizer()] {
                        delta = makeTraining(document.graph, document.devices, document.files.get(), loss,
                                             parameters, optimizer);
                    });
        m_editor.edit(std::move(delta));
    });
}

void TrainingActions::mix(DType low) {
    const std::optional<Training> training = trainingOf(m_document.graph());
    if (!training) {
        m_editor.say(tr("The graph has no training module. Choose Add training first."), Severity::warning);
        return;
    }
    m_editor.attempt(tr("Cannot use mixed precision"), [&] {
        Delta delta;
        workWaiting(tr("Changing precision…"), &m_window,
                    [&delta, &training, low, document = m_document.snapshot()] {
                        delta = makeMixedPrecision(document.graph, document.devices, document.files.get(),
                                                   training->loss, low);
                    });
        if (delta.empty()) return m_editor.say(tr("The graph already computes in mixed precision."));
        m_editor.edit(std::move(delta));
    });
}

void TrainingActions::remove() {
    Delta delta = removeTraining(m_document.graph());
    if (delta.empty()) return m_editor.say(tr("The graph has no training module."));
    m_editor.edit(std::move(delta));
}

bool TrainingActions::goToPartner(NodeId node) {
    return show({partnersOf(m_document.graph(), {node}), {}, {}});
}

void TrainingActions::goToPartners() {
    if (!show({partnersOf(m_document.graph(), m_document.selection().nodes), {}, {}}))
        m_editor.say(tr("Select a node of the backward pass, or a forward node that has a gradient."));
}

bool TrainingActions::show(Selection partners) {
    if (partners.nodes.empty()) return false;
    const NodeId first = *partners.nodes.begin();
    m_document.select(std::move(partners));
    m_canvas.navigator().reveal(first);
    return true;
}

} // namespace twb
