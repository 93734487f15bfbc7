#include "widgets/canvas/canvas_commands.h"

#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/gestures/move_gesture.h"
#include "widgets/graph_edits.h"
#include "widgets/module_edits.h"

#include <cmath>

namespace twb {

void CanvasCommands::selectAll() {
    Document& document = m_host.document();
    Selection all;
    if (const FrameId inside = m_canvas.navigator().inside(); inside != FrameId::none) {
        const std::vector<NodeId> nodes = nodesOfModule(document.graph(), inside);
        all.nodes = {nodes.begin(), nodes.end()};
    } else {
        for (const Node& node : document.graph().nodes()) all.nodes.insert(node.id);
        for (const Note& note : document.graph().notes()) all.notes.insert(note.id);
    }
    document.select(std::move(all));
}

void CanvasCommands::deleteSelection() {
    m_host.apply(removeSelection(m_host.document().graph(), m_host.document().selection()));
}

void CanvasCommands::nudge(QPointF steps) {
    m_host.apply(twb::nudge(m_host.document().graph(), m_host.document().selection(), steps * kGrid));
}

void CanvasCommands::walk(Way way) {
    constexpr double kPan = 64; // pixels
    if (walkAlongDots(way)) return;
    const Selection& selection = m_host.document().selection();
    NodeId next = NodeId::none;
    if (selection.edge)
        next = way == Way::toProducer ? selection.edge->from.node : selection.edge->to.node;
    else if (!selection.nodes.empty())
        next = stepFrom(m_canvas.scene(), m_host.document().graph(), *selection.nodes.begin(), way);
    if (next != NodeId::none) {
        m_host.document().select({m_canvas.mouse().nodesAt(next), {}, std::nullopt});
        m_canvas.navigator().bringIntoView(next);
        return;
    }
    const QPointF steps[] = {{kPan, 0}, {-kPan, 0}, {0, kPan}, {0, -kPan}};
    m_canvas.navigator().panBy(steps[int(way)]);
}

/// From a wire to its first dot, and from a dot to the next one or to the node at the wire's end.
bool CanvasCommands::walkAlongDots(Way way) {
    Document& document = m_host.document();
    const Selection& selection = document.selection();
    const bool isForward = way == Way::toConsumer;
    const bool isOnDot = !selection.dots.empty() && selection.nodes.empty();
    if ((!isForward && way != Way::toProducer) || (!isOnDot && !(selection.edge && isForward))) return false;
    const PortRef input = isOnDot ? selection.dots.begin()->wire : selection.edge->to;
    const auto count = std::ssize(document.graph().dots(input));
    std::ptrdiff_t index = isOnDot ? std::ptrdiff_t(selection.dots.begin()->index) : -1;
    const auto shapeAt = [&] { return m_canvas.scene().wires().dot({input, std::size_t(index)}); };
    do index += isForward ? 1 : -1;
    while (index >= 0 && index < count && !shapeAt());
    if (index >= 0 && index < count) {
        document.select({{}, {}, std::nullopt, {{input, std::size_t(index)}}});
        const QPointF at = shapeAt()->at;
        if (!m_canvas.view().freeViewport().contains(at)) m_canvas.navigator().centerOn(at);
        return true;
    }
    if (!isOnDot) return false; // the wire has no dots
    const NodeId node = index < 0 ? document.graph().sourceOf(input)->node : input.node;
    document.select({m_canvas.mouse().nodesAt(node), {}, std::nullopt});
    m_canvas.navigator().bringIntoView(node);
    return true;
}

bool CanvasCommands::addDot() {
    const WireShapes& wires = m_canvas.scene().wires();
    const Selection& selection = m_host.document().selection();
    const Hit& hover = m_canvas.mouse().hover();
    if (const WireShape* under = hover.kind == Hit::Kind::wire ? wires.find(hover.wire) : nullptr)
        return addDot(*under, wires.placeNear(*under, m_canvas.view().toScene(m_canvas.mouse().pixel())));
    std::optional<Edge> edge = selection.edge;
    if (!edge && !selection.dots.empty()) {
        const PortRef input = selection.dots.begin()->wire;
        edge = Edge{*m_host.document().graph().sourceOf(input), input};
    }
    const WireShape* wire = edge ? wires.find(*edge) : nullptr;
    return wire && addDot(*wire, wires.placeAmid(*wire));
}

bool CanvasCommands::addDot(const WireShape& wire, const DotPlace& place) {
    const std::optional<Dot> dot = dotAt(wire, place.at);
    if (!dot) return false;
    const Graph& graph = m_host.document().graph();
    const PortRef input = wire.edge.to;
    if (graph.dots(input).size() >= kMostDots) {
        Q_EMIT m_canvas.failed(
            CanvasWidget::tr("A wire can have %1 dots. Remove some first.").arg(kMostDots));
        return true;
    }
    m_host.apply(twb::addDot(graph, wire.edge, place.index, *dot));
    m_host.document().select({{}, {}, std::nullopt, {{input, place.index}}});
    return true;
}

/// On a collapsed lane the dot would be invisible.
std::optional<Dot> CanvasCommands::dotAt(const WireShape& wire, QPointF at) const {
    const LaneBand* band = m_canvas.scene().lanes().at(at.y());
    if (!m_canvas.scene().wires().takesDots(wire) || !band || band->collapsed) return std::nullopt;
    return Dot{band->id, {std::round(at.x()), std::round(at.y() - band->top)}};
}

void CanvasCommands::requestOp() {
    const CanvasView& view = m_canvas.view();
    QPoint at = m_canvas.mouse().pixel().toPoint();
    if (!m_canvas.underMouse() || m_canvas.mouse().isHeader(at))
        at = view.toPixels(view.freeViewport()).center().toPoint();
    Q_EMIT m_canvas.opWanted(at, std::nullopt);
}

} // namespace twb
