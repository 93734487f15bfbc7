#include "widgets/canvas/canvas_navigator.h"

#include "graph/module_tree.h"
#include "widgets/canvas/heat.h"
#include "widgets/canvas/paint_canvas.h"
#include "widgets/document.h"
#include "widgets/module_edits.h"

#include <QWidget>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr double kZoomStep = 1.2;
constexpr double kFullZoom = 0.6;

} // namespace

CanvasNavigator::CanvasNavigator(QWidget& canvas, Document& document, Scene& scene)
    : QObject(&canvas), m_canvas(canvas), m_document(document), m_scene(scene) {}

SceneSource CanvasNavigator::source() const {
    return {m_document.graph(), m_document.analysis(), m_document.devices(), m_inside};
}

const QRectF& CanvasNavigator::content() const {
    if (m_contentVersion != m_scene.version()) {
        m_content = m_scene.extent();
        m_contentVersion = m_scene.version();
    }
    return m_content;
}

void CanvasNavigator::reset() {
    m_spots.clear();
    if (std::exchange(m_inside, FrameId::none) != FrameId::none) Q_EMIT insideChanged();
    m_scene.rebuild(source());
    zoomToFit();
}

void CanvasNavigator::follow(const Delta& delta) {
    if (!leavesWhatIsGone(delta)) return m_scene.update(source(), delta, m_document.revised());
    m_scene.rebuild(source());
    Q_EMIT insideChanged();
    zoomToFit();
}

bool CanvasNavigator::leavesWhatIsGone(const Delta& delta) {
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

void CanvasNavigator::enter(FrameId module) {
    const Graph& graph = m_document.graph();
    if (module == m_inside || (module != FrameId::none && !graph.find(module))) return;
    Q_EMIT entering();
    // A view that fitted the whole graph is fitted again on return.
    if (m_isFitted)
        m_spots.erase(m_inside);
    else
        m_spots[m_inside] = spot();
    const bool leads = liesIn(graph, module, m_inside) || m_inside == FrameId::none;
    m_inside = module;
    m_scene.rebuild(source());
    // Selects only visible items, so that keys do not affect hidden ones.
    Selection selection = m_document.selection();
    std::erase_if(selection.nodes, [&](NodeId id) {
        return module != FrameId::none && !liesIn(graph, graph.find(id)->frame, module);
    });
    if (module != FrameId::none) selection.notes.clear();
    std::erase_if(selection.dots, [this](const DotRef& dot) { return !m_scene.wires().dot(dot); });
    if (selection.edge) {
        const WireShape* wire = m_scene.wires().find(*selection.edge);
        if (!wire || wire->hidden) selection.edge.reset();
    }
    m_document.select(std::move(selection));
    Q_EMIT insideChanged(); // the breadcrumb may appear or disappear, which changes the height
    const auto known = m_spots.find(module);
    if (leads || known == m_spots.end())
        zoomToFit();
    else
        show(known->second);
}

void CanvasNavigator::leave() {
    const Frame* module = m_document.graph().find(m_inside);
    if (!module) return;
    const FrameId left = m_inside;
    enter(module->parent);
    const std::vector<NodeId> nodes = nodesOfModule(m_document.graph(), left);
    m_document.select({{nodes.begin(), nodes.end()}, {}, std::nullopt});
}

void CanvasNavigator::leaveFor(NodeId id) {
    const Graph& graph = m_document.graph();
    const FrameId home = graph.find(id)->frame;
    FrameId around = m_inside;
    while (around != FrameId::none && !liesIn(graph, home, around)) around = graph.find(around)->parent;
    enter(around);
}

void CanvasNavigator::reveal(NodeId id) {
    const Node* node = m_document.graph().find(id);
    if (!node) return;
    leaveFor(id);
    const NodeShape* shape = m_scene.nodes().drawn(id);
    if (shape && m_scene.modules().of(*shape)) enter(node->frame);
    bringIntoView(id);
}

void CanvasNavigator::bringIntoView(NodeId node) {
    const NodeShape* shape = m_scene.nodes().drawn(node);
    if (!shape) return;
    const bool isReadable = m_view.zoom() >= kFullZoom;
    if (isReadable && m_view.freeViewport().contains(shape->rect)) return;
    if (!isReadable) m_view.zoomAt(QRectF(m_canvas.rect()).center(), 1.0);
    centerOn(shape->rect.center());
}

void CanvasNavigator::fitSize() {
    m_view.setSize(m_canvas.size(), m_canvas.devicePixelRatioF());
    m_view.setHeaderWidth(headerWidthFor(m_canvas.width()));
}

void CanvasNavigator::resize() {
    if (m_isFitted) return zoomToFit();
    fitSize();
    showView();
}

void CanvasNavigator::makeRoomForScale(bool isShown) {
    m_hasScale = isShown;
    if (m_isFitted) zoomToFit();
}

void CanvasNavigator::zoomToFit() {
    fitSize();
    const QRectF scale = m_hasScale ? heatScaleBox(QSizeF(m_canvas.size())) : QRectF();
    m_view.fit(m_scene.shownExtent(), 1.0, scale.isEmpty() ? 0 : m_canvas.height() - scale.top());
    m_isFitted = true;
    showView();
}

void CanvasNavigator::zoomToSelection() {
    const Selection& selection = m_document.selection();
    std::vector<NodeId> nodes(selection.nodes.begin(), selection.nodes.end());
    if (selection.edge) nodes.insert(nodes.end(), {selection.edge->from.node, selection.edge->to.node});
    QRectF area = m_scene.boundsOf(nodes, {selection.notes.begin(), selection.notes.end()});
    for (const DotRef& ref : selection.dots)
        if (const DotShape* dot = m_scene.wires().dot(ref)) area |= QRectF(dot->at, QSizeF(1, 1));
    if (area.isEmpty())
        zoomToFit();
    else
        zoomTo(area);
}

void CanvasNavigator::zoomTo(const QRectF& area) {
    m_view.fit(area.adjusted(-40, -40, 40, 40), 1.0);
    centerOn(area.center());
}

void CanvasNavigator::zoom100() { zoomAt(QRectF(m_canvas.rect()).center(), 1.0); }

void CanvasNavigator::zoomIn() { zoomAt(QRectF(m_canvas.rect()).center(), m_view.zoom() * kZoomStep); }

void CanvasNavigator::zoomOut() { zoomAt(QRectF(m_canvas.rect()).center(), m_view.zoom() / kZoomStep); }

void CanvasNavigator::zoomAt(QPointF pixel, double zoom) {
    m_view.zoomAt(pixel, zoom);
    viewMoved();
}

void CanvasNavigator::panBy(QPointF pixels) {
    m_view.panBy(pixels);
    viewMoved();
}

void CanvasNavigator::centerOn(QPointF at) {
    m_view.centerOn(at);
    viewMoved();
}

void CanvasNavigator::show(const Spot& spot) {
    enter(m_document.graph().find(spot.inside) ? spot.inside : FrameId::none);
    m_view.zoomAt(QRectF(m_canvas.rect()).center(), spot.zoom);
    centerOn(spot.middle);
}

void CanvasNavigator::viewMoved() {
    m_isFitted = false;
    showView();
}

void CanvasNavigator::showView() {
    m_view.keepInSight(content());
    Q_EMIT moved();
}

} // namespace twb
