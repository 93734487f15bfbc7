#include "widgets/canvas/canvas_mouse.h"

#include "graph/folding.h"
#include "widgets/canvas/canvas_tooltip.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/canvas/gestures/connect_gesture.h"
#include "widgets/canvas/gestures/cut_gesture.h"
#include "widgets/canvas/gestures/lane_gesture.h"
#include "widgets/canvas/gestures/move_gesture.h"
#include "widgets/canvas/gestures/pan_gesture.h"
#include "widgets/canvas/gestures/rubber_band_gesture.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/graph_edits.h"
#include "widgets/module_edits.h"
#include "widgets/plain_text.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPointingDevice>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twb {
namespace {

constexpr double kRim = 28;           ///< pixels near the edge in which a drag scrolls the view
constexpr double kRimSpeed = 14;      ///< maximum, in pixels per frame
constexpr double kWheelZoom = 1.0015; ///< per eighth of a degree

bool adds(Qt::KeyboardModifiers modifiers) { return modifiers & (Qt::ControlModifier | Qt::ShiftModifier); }

bool isFromTouchpad(const QWheelEvent& event) {
    return event.pointingDevice() && event.pointingDevice()->type() == QInputDevice::DeviceType::TouchPad;
}

} // namespace

CanvasMouse::CanvasMouse(CanvasWidget& canvas, GestureHost& host)
    : QObject(&canvas), m_canvas(canvas), m_host(host), m_document(host.document()),
      m_scene(host.hostScene()) {
    canvas.setMouseTracking(true);
    canvas.installEventFilter(this);
    m_rimTimer.setInterval(16);
    connect(&m_rimTimer, &QTimer::timeout, this, &CanvasMouse::scrollAtRim);
}

bool CanvasMouse::eventFilter(QObject*, QEvent* event) {
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        press(*static_cast<QMouseEvent*>(event));
        return true;
    case QEvent::MouseMove:
        move(*static_cast<QMouseEvent*>(event));
        return true;
    case QEvent::MouseButtonRelease:
        release(*static_cast<QMouseEvent*>(event));
        return true;
    case QEvent::MouseButtonDblClick:
        doubleClick(*static_cast<QMouseEvent*>(event));
        return true;
    case QEvent::Wheel:
        turnWheel(*static_cast<QWheelEvent*>(event));
        event->accept();
        return true;
    case QEvent::ContextMenu:
        askForMenu(*static_cast<QContextMenuEvent*>(event));
        return true;
    case QEvent::ToolTip:
        showToolTip(*static_cast<QHelpEvent*>(event));
        return true;
    case QEvent::Leave:
        clearHover();
        return false;
    default:
        return false;
    }
}

Pointer CanvasMouse::pointerAt(QPointF pixel, Qt::KeyboardModifiers modifiers) const {
    return {pixel, m_canvas.view().toScene(pixel), modifiers};
}

bool CanvasMouse::isHeader(QPointF pixel) const {
    if (pixel.x() >= headerWidthFor(m_canvas.width()) || m_scene.lanes().bands().empty()) return false;
    if (laneEdgeAt(pixel) != LaneId::none) return true;
    const double y = m_canvas.view().toScene(pixel).y();
    return y >= m_scene.lanes().bands().front().top && y < m_scene.lanes().bands().back().bottom();
}

LaneId CanvasMouse::laneEdgeAt(QPointF pixel) const {
    constexpr double kReach = 5;
    if (pixel.x() >= headerWidthFor(m_canvas.width())) return LaneId::none;
    for (const LaneBand& band : m_scene.lanes().bands())
        if (!band.collapsed &&
            std::abs(m_canvas.view().toPixel({0, band.bottom()}).y() - pixel.y()) <= kReach)
            return band.id;
    return LaneId::none;
}

LaneId CanvasMouse::laneArrowAt(QPointF pixel) const {
    for (const LaneBand& band : m_scene.lanes().bands()) {
        const QRectF header(0, m_canvas.view().toPixel({0, band.top}).y(), headerWidthFor(m_canvas.width()),
                            band.height * m_canvas.view().zoom());
        if (chevronOf(header, m_canvas.height()).contains(pixel)) return band.id;
    }
    return LaneId::none;
}

Hit CanvasMouse::hitAt(QPointF pixel) const {
    return hitTest(m_scene, m_canvas.view().toScene(pixel), m_canvas.view().zoom());
}

LaneId CanvasMouse::laneAt(QPointF pixel) const {
    return twb::laneAt(m_scene, m_canvas.view().toScene(pixel));
}

std::set<NodeId> CanvasMouse::nodesAt(NodeId id) const {
    const NodeShape* shape = m_scene.nodes().drawn(id);
    if (!shape) return {};
    const std::vector<NodeId> nodes = m_scene.modules().nodesOn(*shape);
    return {nodes.begin(), nodes.end()};
}

void CanvasMouse::selectForPress(const Hit& hit, const Pointer& pointer) {
    Selection selection = m_document.selection();
    const bool isAdding = adds(pointer.modifiers);
    const std::set<NodeId> nodes = nodesAt(hit.node);
    switch (hit.kind) {
    case Hit::Kind::node:
        if (isAdding) {
            selection.edge.reset();
            if (std::erase_if(selection.nodes, [&](NodeId id) { return nodes.contains(id); }) == 0)
                selection.nodes.insert(nodes.begin(), nodes.end());
        } else if (!selection.nodes.contains(hit.node)) {
            selection = {nodes, {}, std::nullopt};
        }
        break;
    case Hit::Kind::note:
        if (isAdding) {
            selection.edge.reset();
            if (!selection.notes.erase(hit.note)) selection.notes.insert(hit.note);
        } else if (!selection.notes.contains(hit.note)) {
            selection = {{}, {hit.note}, std::nullopt};
        }
        break;
    case Hit::Kind::dot: {
        const DotRef dot{hit.wire.to, hit.dot};
        if (isAdding) {
            selection.edge.reset();
            if (!selection.dots.erase(dot)) selection.dots.insert(dot);
        } else if (!selection.dots.contains(dot)) {
            selection = {{}, {}, std::nullopt, {dot}};
        }
        break;
    }
    case Hit::Kind::wire:
        selection = {{}, {}, hit.wire};
        break;
    case Hit::Kind::frame: {
        if (!isAdding) selection = {};
        for (NodeId id : nodesOfModule(m_document.graph(), hit.frame)) selection.nodes.insert(id);
        selection.edge.reset();
        break;
    }
    case Hit::Kind::stub: {
        const std::vector<NodeId>& behind = m_scene.stubs()[hit.stub].nodes;
        if (!isAdding) selection = {};
        selection.nodes.insert(behind.begin(), behind.end());
        selection.edge.reset();
        break;
    }
    case Hit::Kind::nothing:
    case Hit::Kind::input:
    case Hit::Kind::output:
        return;
    }
    m_document.select(std::move(selection));
}

std::unique_ptr<Gesture> CanvasMouse::gestureFor(const Hit& hit, const Pointer& pointer) {
    switch (hit.kind) {
    case Hit::Kind::input:
        return std::make_unique<ConnectGesture>(m_host, pointer, PortSide::input, hit.port);
    case Hit::Kind::output:
        return std::make_unique<ConnectGesture>(m_host, pointer, PortSide::output, hit.port);
    case Hit::Kind::wire:
        if (auto pull = pullDot(hit.wire, pointer)) return pull;
        return std::make_unique<ConnectGesture>(m_host, pointer, hit.wire);
    case Hit::Kind::nothing:
        return std::make_unique<RubberBandGesture>(m_host, pointer);
    case Hit::Kind::stub:
        return nullptr;
    case Hit::Kind::node:
    case Hit::Kind::note:
    case Hit::Kind::frame:
    case Hit::Kind::dot:
        break;
    }
    const Selection& selection = m_document.selection();
    if (selection.nodes.empty() && selection.notes.empty() && selection.dots.empty())
        return nullptr; // deselected by Ctrl
    LaneId lane = laneAt(pointer.pixel);
    if (hit.kind == Hit::Kind::node) lane = m_document.graph().find(hit.node)->lane;
    if (hit.kind == Hit::Kind::note) lane = m_document.graph().find(hit.note)->lane;
    if (hit.kind == Hit::Kind::dot) lane = m_document.graph().dots(hit.wire.to)[hit.dot].lane;
    auto gesture = std::make_unique<MoveGesture>(m_host, pointer, selection, lane);
    // A click on one of several selected items selects only that item, but not before a drag is ruled out.
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::node)
        gesture->setOnClick({nodesAt(hit.node), {}, std::nullopt});
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::note)
        gesture->setOnClick({{}, {hit.note}, std::nullopt});
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::dot)
        gesture->setOnClick({{}, {}, std::nullopt, {{hit.wire.to, hit.dot}}});
    return gesture;
}

std::unique_ptr<Gesture> CanvasMouse::pullDot(const Edge& edge, const Pointer& pointer) {
    const WireShape* wire = m_scene.wires().find(edge);
    if (!wire || pointer.modifiers != Qt::ShiftModifier) return nullptr;
    const DotPlace place = m_scene.wires().placeNear(*wire, pointer.at);
    const std::optional<Dot> dot = m_canvas.commands().dotAt(*wire, place.at);
    if (!dot || m_document.graph().dots(edge.to).size() >= kMostDots) return nullptr;
    return std::make_unique<MoveGesture>(m_host, pointer, edge, place.index, *dot);
}

void CanvasMouse::press(const QMouseEvent& event) {
    QToolTip::hideText();
    if (m_gesture) return; // a second button during a drag
    const Pointer pointer = pointerAt(event.position(), event.modifiers());
    m_pointer.pixel = pointer.pixel;
    if (event.button() == Qt::MiddleButton || (event.button() == Qt::LeftButton && m_pans)) {
        m_gesture = std::make_unique<PanGesture>(m_host, pointer);
    } else if (event.button() == Qt::LeftButton || event.button() == Qt::RightButton) {
        if (isHeader(pointer.pixel)) {
            m_pressedHeader = laneAt(pointer.pixel);
            m_pressedPixel = pointer.pixel;
            return;
        }
        const Hit hit = hitAt(pointer.pixel);
        const bool hasKnife = event.button() == Qt::LeftButton &&
                              event.modifiers() == (Qt::ControlModifier | Qt::ShiftModifier);
        if (hasKnife && hit.node == NodeId::none) {
            m_gesture = std::make_unique<CutGesture>(m_host, pointer);
            updateCursor();
            return;
        }
        if (event.button() == Qt::RightButton) {
            Hit body = hit;
            if (hit.kind == Hit::Kind::input || hit.kind == Hit::Kind::output) body.kind = Hit::Kind::node;
            Pointer plain = pointer;
            plain.modifiers = Qt::NoModifier;
            if (body.kind == Hit::Kind::nothing) m_document.select({});
            selectForPress(body, plain);
            return;
        }
        selectForPress(hit, pointer);
        m_gesture = gestureFor(hit, pointer);
    }
    updateCursor();
}

void CanvasMouse::move(const QMouseEvent& event) {
    const Pointer pointer = pointerAt(event.position(), event.modifiers());
    m_pointer = pointer;
    const bool isPulled =
        (pointer.pixel - m_pressedPixel).manhattanLength() >= QApplication::startDragDistance();
    if (!m_gesture && m_pressedHeader != LaneId::none && event.buttons() & Qt::LeftButton && isPulled) {
        const LaneId edge = laneEdgeAt(m_pressedPixel);
        const LaneId lane = std::exchange(m_pressedHeader, LaneId::none);
        m_gesture = std::make_unique<LaneGesture>(m_host, edge != LaneId::none ? edge : lane,
                                                  edge != LaneId::none ? LaneGesture::Part::edge
                                                                       : LaneGesture::Part::body);
    }
    if (!m_gesture) {
        setHover(isHeader(pointer.pixel) ? Hit{} : hitAt(pointer.pixel));
        updateCursor(); // a header has two cursors
        return;
    }
    m_gesture->move(pointer);
    showTip(event.globalPosition().toPoint(), m_gesture->preview().reason, &m_canvas);
    if (m_gesture->scrollsAtRim() && !m_rimTimer.isActive()) m_rimTimer.start();
    updateCursor();
}

void CanvasMouse::release(const QMouseEvent& event) {
    const Pointer pointer = pointerAt(event.position(), event.modifiers());
    if (m_pressedHeader != LaneId::none) {
        const LaneId lane = std::exchange(m_pressedHeader, LaneId::none);
        if (const LaneId arrow = laneArrowAt(pointer.pixel);
            arrow != LaneId::none && arrow == laneArrowAt(m_pressedPixel))
            m_host.apply(collapseLane(m_document.graph(), arrow, !m_document.graph().find(arrow)->collapsed));
        else if (isHeader(pointer.pixel) && laneAt(pointer.pixel) == lane)
            Q_EMIT m_canvas.laneHeaderClicked(lane, event.globalPosition().toPoint());
        return;
    }
    if (m_gesture && !(event.buttons() & (Qt::LeftButton | Qt::MiddleButton))) {
        m_rimTimer.stop();
        // The gesture's Delta comes back as a change of the document, which would cancel the gesture.
        const std::unique_ptr<Gesture> gesture = std::move(m_gesture);
        QToolTip::hideText();
        gesture->finish(pointer);
        m_canvas.update();
    }
    setHover(isHeader(pointer.pixel) ? Hit{} : hitAt(pointer.pixel));
    updateCursor();
}

void CanvasMouse::doubleClick(const QMouseEvent& event) {
    if (event.button() != Qt::LeftButton || isHeader(event.position())) return;
    const Hit hit = hitAt(event.position());
    const NodeShape* under = m_scene.nodes().drawn(hit.node);
    const ModuleShape* module = under ? m_scene.modules().of(*under) : nullptr;
    if (hit.kind == Hit::Kind::note)
        Q_EMIT m_canvas.noteActivated(hit.note);
    else if (hit.kind == Hit::Kind::stub)
        openStub(m_scene.stubs()[hit.stub]);
    else if (const WireShape* wire = m_scene.wires().find(hit.wire); wire && hit.kind == Hit::Kind::wire)
        m_canvas.commands().addDot(
            *wire, m_scene.wires().placeNear(*wire, m_canvas.view().toScene(event.position())));
    else if (module)
        m_canvas.navigator().enter(module->frame);
    else if (const NodeShape* shape = m_scene.nodes().find(hit.node);
             shape && shape->kind == NodeShape::Kind::row)
        m_host.apply(unfold(m_document.graph(), {hit.node}));
    else if (hit.kind == Hit::Kind::frame)
        m_canvas.navigator().zoomTo(m_scene.boundsOf(nodesOfModule(m_document.graph(), hit.frame), {}));
    else if (hit.node != NodeId::none && !openBodies(hit.node))
        Q_EMIT m_canvas.nodeActivated(hit.node);
    else if (hit.kind == Hit::Kind::nothing)
        Q_EMIT m_canvas.opWanted(event.position().toPoint(), std::nullopt);
}

/// Opens the content of a stub.
void CanvasMouse::openStub(const StubShape& stub) {
    if (stub.kind == StubShape::Kind::onLane) {
        m_host.apply(collapseLane(m_document.graph(), stub.lane, false));
        return;
    }
    const std::vector<NodeId> nodes = stub.nodes; // the stub ends with the open module
    m_canvas.navigator().leaveFor(nodes.front());
    Selection selection;
    for (const NodeId id : nodes) selection.nodes.merge(nodesAt(id));
    m_document.select(std::move(selection));
    m_canvas.navigator().bringIntoView(nodes.front());
}

void CanvasMouse::scrollAtRim() {
    if (!m_gesture || !m_gesture->scrollsAtRim()) {
        m_rimTimer.stop();
        return;
    }
    const auto speed = [](double at, double from, double until) {
        const double before = from + kRim - at;
        const double after = at - (until - kRim);
        const double depth = before > 0 ? before : (after > 0 ? -after : 0);
        return std::clamp(depth / kRim, -1.0, 1.0) * kRimSpeed;
    };
    const QPointF step(speed(m_pointer.pixel.x(), headerWidthFor(m_canvas.width()), m_canvas.width()),
                       speed(m_pointer.pixel.y(), 0, m_canvas.height()));
    if (step.isNull()) return;
    m_canvas.navigator().panBy(step);
    m_gesture->move(pointerAt(m_pointer.pixel, m_pointer.modifiers));
}

void CanvasMouse::turnWheel(const QWheelEvent& event) {
    const QPoint angle = event.angleDelta();
    const bool zooms = event.modifiers() & Qt::ControlModifier ||
                       !(isFromTouchpad(event) || event.modifiers() & Qt::ShiftModifier || angle.y() == 0);
    if (zooms) {
        m_canvas.navigator().zoomAt(event.position(),
                                    m_canvas.view().zoom() * std::pow(kWheelZoom, angle.y()));
    } else {
        QPointF pixels = event.pixelDelta().isNull() ? QPointF(angle) / 2 : QPointF(event.pixelDelta());
        // Shift makes a mouse wheel scroll horizontally.
        if (event.modifiers() & Qt::ShiftModifier && pixels.x() == 0) pixels = {pixels.y(), 0};
        m_canvas.navigator().panBy(pixels);
    }
    if (m_gesture) m_gesture->move(pointerAt(event.position(), event.modifiers()));
}

void CanvasMouse::askForMenu(const QContextMenuEvent& event) {
    if (event.reason() == QContextMenuEvent::Mouse && isHeader(QPointF(event.pos())))
        return; // handled by the header
    QPoint at = event.globalPos();
    if (event.reason() == QContextMenuEvent::Keyboard && m_document.selection().nodes.size() == 1) {
        if (const NodeShape* shape = m_scene.nodes().drawn(*m_document.selection().nodes.begin()))
            at = m_canvas.mapToGlobal(m_canvas.view().toPixel(shape->rect.center()).toPoint());
    }
    const bool byMouse = event.reason() == QContextMenuEvent::Mouse;
    Q_EMIT m_canvas.contextMenuRequested(byMouse ? hitAt(event.pos()) : Hit(), at);
}

bool CanvasMouse::openBodies(NodeId owner) {
    QRectF area;
    for (const Frame& frame : m_document.graph().frames())
        if (frame.owner == owner) area |= m_scene.boundsOf(nodesOfModule(m_document.graph(), frame.id), {});
    if (area.isEmpty()) return false;
    m_canvas.navigator().zoomTo(area);
    return true;
}

bool CanvasMouse::cancelGesture() {
    if (!m_gesture) return false;
    m_rimTimer.stop();
    const std::unique_ptr<Gesture> gesture = std::move(m_gesture);
    gesture->cancel();
    updateCursor();
    return true;
}

void CanvasMouse::setPanning(bool pans) {
    if (std::exchange(m_pans, pans) != pans) updateCursor();
}

void CanvasMouse::setHover(const Hit& hit) {
    if (hit == m_hover) return;
    m_hover = hit;
    m_journey.reset();
    if (hit.kind == Hit::Kind::wire)
        m_journey = journeyShape(m_scene, m_document.graph(), m_document.analysis(), hit.wire);
    updateCursor();
    m_canvas.update();
}

void CanvasMouse::updateCursor() {
    Qt::CursorShape shape = Qt::ArrowCursor;
    if (m_gesture)
        shape = m_gesture->cursor();
    else if (m_pans)
        shape = Qt::OpenHandCursor;
    else if (m_hover.kind == Hit::Kind::input || m_hover.kind == Hit::Kind::output)
        shape = Qt::CrossCursor;
    else if (m_hover.kind == Hit::Kind::wire || m_hover.kind == Hit::Kind::stub)
        shape = Qt::PointingHandCursor;
    else if (m_hover.kind == Hit::Kind::frame || m_hover.kind == Hit::Kind::dot)
        shape = Qt::SizeAllCursor;
    else if (laneEdgeAt(m_pointer.pixel) != LaneId::none && m_canvas.underMouse())
        shape = Qt::SizeVerCursor;
    else if (isHeader(m_pointer.pixel) && m_canvas.underMouse())
        shape = Qt::PointingHandCursor;
    if (m_canvas.cursor().shape() != shape) m_canvas.setCursor(shape);
}

void CanvasMouse::showToolTip(const QHelpEvent& event) {
    QString text;
    if (m_gesture) {
        text.clear();
    } else if (!isHeader(QPointF(event.pos()))) {
        const Hit hit = hitAt(event.pos());
        const bool isRead = hit.kind == Hit::Kind::note && m_canvas.view().zoom() >= kReadableZoom;
        if (!isRead) text = tooltipFor(hit, m_document, m_scene, m_canvas.figures().run());
    } else if (const LaneBand* band = m_scene.lanes().find(laneAt(event.pos()))) {
        text = laneTooltip(band->device, m_document.devices());
    }
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(event.globalPos(), text, &m_canvas);
}

} // namespace twb
