// The open module: entering and leaving it.

#include "widgets/canvas/canvas_widget.h"
#include "widgets/module_edits.h"

#include <algorithm>
#include <utility>

namespace twb {

void CanvasWidget::enter(FrameId module) {
    const Graph& graph = m_document.graph();
    if (module == m_inside || (module != FrameId::none && !graph.find(module))) return;
    cancelGesture();
    m_heldWire = {};
    setHover({});
    // A view that fitted the whole graph is fitted again on return.
    if (m_isFitted)
        m_spots.erase(m_inside);
    else
        m_spots[m_inside] = spot();
    const bool leads = liesIn(graph, module, m_inside) || m_inside == FrameId::none;
    m_inside = module;
    m_scene.rebuild(source());
    m_heatIsOld = true;
    // Selects only visible items, so that keys do not affect hidden ones.
    Selection selection = m_document.selection();
    std::erase_if(selection.nodes, [&](NodeId id) {
        return module != FrameId::none && !liesIn(graph, graph.find(id)->frame, module);
    });
    if (module != FrameId::none) selection.notes.clear();
    std::erase_if(selection.dots, [this](const DotRef& dot) { return !m_scene.dot(dot); });
    if (selection.edge) {
        const WireShape* wire = m_scene.wire(*selection.edge);
        if (!wire || wire->hidden) selection.edge.reset();
    }
    m_document.select(std::move(selection));
    Q_EMIT insideChanged(); // the breadcrumb may appear or disappear, which changes the height
    const auto known = m_spots.find(module);
    if (leads || known == m_spots.end())
        zoomToFit();
    else
        show(known->second);
    setAccessibleDescription(
        module == FrameId::none
            ? tr("%n node(s) on lanes, one lane per device", nullptr, int(graph.nodes().size()))
            : tr("Module %1").arg(QString::fromStdString(graph.find(module)->title)));
}

void CanvasWidget::leave() {
    const Frame* module = m_document.graph().find(m_inside);
    if (!module) return;
    const FrameId left = m_inside;
    enter(module->parent);
    const std::vector<NodeId> nodes = nodesOfModule(m_document.graph(), left);
    m_document.select({{nodes.begin(), nodes.end()}, {}, std::nullopt});
}

void CanvasWidget::leaveFor(NodeId id) {
    const Graph& graph = m_document.graph();
    const FrameId home = graph.find(id)->frame;
    FrameId around = m_inside;
    while (around != FrameId::none && !liesIn(graph, home, around)) around = graph.find(around)->parent;
    enter(around);
}

void CanvasWidget::reveal(NodeId id) {
    const Node* node = m_document.graph().find(id);
    if (!node) return;
    leaveFor(id);
    const NodeShape* shape = m_scene.drawn(id);
    if (shape && m_scene.moduleOf(*shape)) enter(node->frame);
    bringIntoView(id);
}

bool CanvasWidget::leavesWhatIsGone(const Delta& delta) {
    const Graph& graph = m_document.graph();
    if (m_inside == FrameId::none || graph.find(m_inside)) return false;
    FrameId around = m_inside;
    for (std::size_t steps = 0;
         around != FrameId::none && !graph.find(around) && steps <= delta.frames.size(); ++steps) {
        const auto gone = std::find_if(delta.frames.begin(), delta.frames.end(), [&](const auto& change) {
            return change.before && change.before->id == around;
        });
        around = gone == delta.frames.end() ? FrameId::none : gone->before->parent;
    }
    m_inside = graph.find(around) ? around : FrameId::none;
    return true;
}

} // namespace twb
