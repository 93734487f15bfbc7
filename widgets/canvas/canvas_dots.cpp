// Dots on wires: adding them, and moving from one to the next.

#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/gestures/move_gesture.h"

#include <algorithm>
#include <cmath>

namespace twb {

bool CanvasWidget::addDot() {
    const Selection& selection = m_document.selection();
    const WireShape* under = m_hover.kind == Hit::Kind::wire ? m_scene.wire(m_hover.wire) : nullptr;
    if (under) return addDot(*under, m_scene.placeNear(*under, m_view.toScene(m_lastPixel)));
    std::optional<Edge> edge = selection.edge;
    if (!edge && !selection.dots.empty()) {
        const PortRef input = selection.dots.begin()->wire;
        edge = Edge{*m_document.graph().sourceOf(input), input};
    }
    const WireShape* wire = edge ? m_scene.wire(*edge) : nullptr;
    return wire && addDot(*wire, m_scene.placeAmid(*wire));
}

/// On a collapsed lane the dot would be invisible.
std::optional<Dot> CanvasWidget::dotAt(const WireShape& wire, QPointF at) const {
    const LaneBand* band = m_scene.laneAt(at.y());
    if (!m_scene.takesDots(wire) || !band || band->collapsed) return std::nullopt;
    return Dot{band->id, {std::round(at.x()), std::round(at.y() - band->top)}};
}

std::unique_ptr<Gesture> CanvasWidget::pullDot(const Edge& edge, const Pointer& pointer) {
    const WireShape* wire = m_scene.wire(edge);
    if (!wire || pointer.modifiers != Qt::ShiftModifier) return nullptr;
    const DotPlace place = m_scene.placeNear(*wire, pointer.at);
    const std::optional<Dot> dot = dotAt(*wire, place.at);
    if (!dot || m_document.graph().dots(edge.to).size() >= kMostDots) return nullptr;
    return std::make_unique<MoveGesture>(static_cast<GestureHost&>(*this), pointer, edge, place.index, *dot);
}

/// Selects the dot, so that keys can move it.
bool CanvasWidget::addDot(const WireShape& wire, const DotPlace& place) {
    const std::optional<Dot> dot = dotAt(wire, place.at);
    if (!dot) return false;
    const PortRef input = wire.edge.to;
    if (m_document.graph().dots(input).size() >= kMostDots) {
        Q_EMIT failed(tr("A wire can have %1 dots. Remove some first.").arg(kMostDots));
        return true;
    }
    apply(twb::addDot(m_document.graph(), wire.edge, place.index, *dot));
    m_document.select({{}, {}, std::nullopt, {{input, place.index}}});
    return true;
}

/// From a wire to its first dot, and from a dot to the next one or to the node at the wire's end.
bool CanvasWidget::walkAlongDots(Way way) {
    const Selection& selection = m_document.selection();
    const bool isForward = way == Way::toConsumer;
    const bool isOnDot = !selection.dots.empty() && selection.nodes.empty();
    if ((!isForward && way != Way::toProducer) || (!isOnDot && !(selection.edge && isForward))) return false;
    const PortRef input = isOnDot ? selection.dots.begin()->wire : selection.edge->to;
    const auto count = std::ssize(m_document.graph().dots(input));
    std::ptrdiff_t index = isOnDot ? std::ptrdiff_t(selection.dots.begin()->index) : -1;
    do index += isForward ? 1 : -1;
    while (index >= 0 && index < count && !m_scene.dot({input, std::size_t(index)}));
    if (index >= 0 && index < count) {
        const DotRef next{input, std::size_t(index)};
        m_document.select({{}, {}, std::nullopt, {next}});
        const QPointF at = m_scene.dot(next)->at;
        if (!m_view.freeViewport().contains(at)) centerOn(at);
        return true;
    }
    if (!isOnDot) return false; // the wire has no dots
    const NodeId node = index < 0 ? m_document.graph().sourceOf(input)->node : input.node;
    m_document.select({{node}, {}, std::nullopt});
    bringIntoView(node);
    return true;
}

} // namespace twb
