#include "graph/folding.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/gestures/connect_gesture.h"
#include "widgets/canvas/gestures/cut_gesture.h"
#include "widgets/canvas/gestures/lane_gesture.h"
#include "widgets/canvas/gestures/move_gesture.h"
#include "widgets/canvas/gestures/pan_gesture.h"
#include "widgets/canvas/gestures/rubber_band_gesture.h"
#include "widgets/graph_edits.h"
#include "widgets/module_edits.h"
#include "widgets/plain_text.h"
#include "widgets/text.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPointingDevice>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

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

Pointer CanvasWidget::pointerAt(QPointF pixel, Qt::KeyboardModifiers modifiers) const {
    return {pixel, m_view.toScene(pixel), modifiers};
}

bool CanvasWidget::isHeader(QPointF pixel) const {
    if (pixel.x() >= headerWidthFor(width()) || m_scene.lanes().empty()) return false;
    if (laneEdgeAt(pixel) != LaneId::none) return true;
    const double y = m_view.toScene(pixel).y();
    return y >= m_scene.lanes().front().top && y < m_scene.lanes().back().bottom();
}

LaneId CanvasWidget::laneEdgeAt(QPointF pixel) const {
    constexpr double kReach = 5;
    if (pixel.x() >= headerWidthFor(width())) return LaneId::none;
    for (const LaneBand& band : m_scene.lanes())
        if (!band.collapsed && std::abs(m_view.toPixel({0, band.bottom()}).y() - pixel.y()) <= kReach)
            return band.id;
    return LaneId::none;
}

LaneId CanvasWidget::laneArrowAt(QPointF pixel) const {
    for (const LaneBand& band : m_scene.lanes()) {
        const QRectF header(0, m_view.toPixel({0, band.top}).y(), headerWidthFor(width()),
                            band.height * zoom());
        if (chevronOf(header, height()).contains(pixel)) return band.id;
    }
    return LaneId::none;
}

std::set<NodeId> CanvasWidget::nodesAt(NodeId id) const {
    const NodeShape* shape = m_scene.drawn(id);
    const ModuleShape* module = shape ? m_scene.moduleOf(*shape) : nullptr;
    return module ? std::set<NodeId>(module->nodes.begin(), module->nodes.end()) : std::set{id};
}

void CanvasWidget::selectForPress(const Hit& hit, const Pointer& pointer) {
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
        for (NodeId id : m_scene.nodesOf(hit.frame, m_document.graph())) selection.nodes.insert(id);
        selection.edge.reset();
        break;
    }
    case Hit::Kind::stub: {
        const std::vector<NodeId>& behind = m_scene.stubs()[std::size_t(hit.stub)].nodes;
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

std::unique_ptr<Gesture> CanvasWidget::gestureFor(const Hit& hit, const Pointer& pointer) {
    GestureHost& host = *this; // the base is private: only the canvas passes itself on
    switch (hit.kind) {
    case Hit::Kind::input:
        return std::make_unique<ConnectGesture>(host, pointer, PortSide::input, hit.port);
    case Hit::Kind::output:
        return std::make_unique<ConnectGesture>(host, pointer, PortSide::output, hit.port);
    case Hit::Kind::wire:
        if (auto pull = pullDot(hit.wire, pointer)) return pull;
        return std::make_unique<ConnectGesture>(host, pointer, hit.wire);
    case Hit::Kind::nothing:
        return std::make_unique<RubberBandGesture>(host, pointer);
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
    LaneId lane = laneAt(pointer.pixel.toPoint());
    if (hit.kind == Hit::Kind::node) lane = m_document.graph().find(hit.node)->lane;
    if (hit.kind == Hit::Kind::note) lane = m_document.graph().find(hit.note)->lane;
    if (hit.kind == Hit::Kind::dot) lane = m_document.graph().dots(hit.wire.to)[hit.dot].lane;
    auto gesture = std::make_unique<MoveGesture>(host, pointer, selection, lane);
    // A click on one of several selected items selects only that item, but not before a drag is ruled out.
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::node)
        gesture->setOnClick({nodesAt(hit.node), {}, std::nullopt});
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::note)
        gesture->setOnClick({{}, {hit.note}, std::nullopt});
    if (!adds(pointer.modifiers) && hit.kind == Hit::Kind::dot)
        gesture->setOnClick({{}, {}, std::nullopt, {{hit.wire.to, hit.dot}}});
    return gesture;
}

void CanvasWidget::mousePressEvent(QMouseEvent* event) {
    m_showsFocus = false;
    QToolTip::hideText();
    if (m_gesture) return; // a second button during a drag
    const Pointer pointer = pointerAt(event->position(), event->modifiers());
    m_lastPixel = pointer.pixel;
    const bool pans =
        event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_spaceIsDown);
    if (pans) {
        m_gesture = std::make_unique<PanGesture>(static_cast<GestureHost&>(*this), pointer);
    } else if (event->button() == Qt::LeftButton || event->button() == Qt::RightButton) {
        if (isHeader(pointer.pixel)) {
            m_pressedHeader = laneAt(pointer.pixel.toPoint());
            m_pressedPixel = pointer.pixel;
            return;
        }
        const Hit hit = m_scene.hitTest(pointer.at, zoom());
        const bool hasKnife = event->button() == Qt::LeftButton &&
                              event->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier);
        if (hasKnife && hit.node == NodeId::none) {
            m_gesture = std::make_unique<CutGesture>(static_cast<GestureHost&>(*this), pointer);
            updateCursor();
            return;
        }
        if (event->button() == Qt::RightButton) {
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

void CanvasWidget::mouseMoveEvent(QMouseEvent* event) {
    m_lastPixel = event->position();
    m_lastModifiers = event->modifiers();
    const Pointer pointer = pointerAt(event->position(), event->modifiers());
    const bool isPulled =
        (pointer.pixel - m_pressedPixel).manhattanLength() >= QApplication::startDragDistance();
    if (!m_gesture && m_pressedHeader != LaneId::none && event->buttons() & Qt::LeftButton && isPulled) {
        const LaneId edge = laneEdgeAt(m_pressedPixel);
        const LaneId lane = std::exchange(m_pressedHeader, LaneId::none);
        m_gesture = std::make_unique<LaneGesture>(
            static_cast<GestureHost&>(*this), edge != LaneId::none ? edge : lane,
            edge != LaneId::none ? LaneGesture::Part::edge : LaneGesture::Part::body);
    }
    if (!m_gesture) {
        setHover(isHeader(pointer.pixel) ? Hit{} : m_scene.hitTest(pointer.at, zoom()));
        updateCursor(); // a header has two cursors
        return;
    }
    m_gesture->move(pointer);
    showTip(event->globalPosition().toPoint(), m_gesture->preview().reason, this);
    if (m_gesture->scrollsAtRim() && !m_rimTimer.isActive()) m_rimTimer.start();
    updateCursor();
}

void CanvasWidget::mouseReleaseEvent(QMouseEvent* event) {
    const Pointer pointer = pointerAt(event->position(), event->modifiers());
    if (m_pressedHeader != LaneId::none) {
        const LaneId lane = std::exchange(m_pressedHeader, LaneId::none);
        if (const LaneId arrow = laneArrowAt(pointer.pixel);
            arrow != LaneId::none && arrow == laneArrowAt(m_pressedPixel))
            apply(collapseLane(m_document.graph(), arrow, !m_document.graph().find(arrow)->collapsed));
        else if (isHeader(pointer.pixel) && laneAt(pointer.pixel.toPoint()) == lane)
            Q_EMIT laneHeaderClicked(lane, event->globalPosition().toPoint());
        return;
    }
    if (m_gesture && !(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) {
        m_rimTimer.stop();
        // The gesture's Delta comes back as a change of the document, which would cancel the gesture.
        const std::unique_ptr<Gesture> gesture = std::move(m_gesture);
        QToolTip::hideText();
        gesture->finish(pointer);
        update();
    }
    setHover(isHeader(pointer.pixel) ? Hit{} : m_scene.hitTest(pointer.at, zoom()));
    updateCursor();
}

void CanvasWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || isHeader(event->position())) return;
    const Hit hit = m_scene.hitTest(m_view.toScene(event->position()), zoom());
    const NodeShape* under = m_scene.drawn(hit.node);
    const ModuleShape* module = under ? m_scene.moduleOf(*under) : nullptr;
    if (hit.kind == Hit::Kind::note)
        Q_EMIT noteActivated(hit.note);
    else if (hit.kind == Hit::Kind::stub)
        activateStub(m_scene.stubs()[std::size_t(hit.stub)]);
    else if (const WireShape* wire = m_scene.wire(hit.wire); wire && hit.kind == Hit::Kind::wire)
        addDot(*wire, m_scene.placeNear(*wire, m_view.toScene(event->position())));
    else if (module)
        enter(module->frame);
    else if (const NodeShape* shape = m_scene.node(hit.node); shape && shape->kind == NodeShape::Kind::row)
        apply(unfold(m_document.graph(), {hit.node}));
    else if (hit.kind == Hit::Kind::frame)
        zoomTo(m_scene.boundsOf(m_scene.nodesOf(hit.frame, m_document.graph()), {}));
    else if (hit.node != NodeId::none && !openBodies(hit.node))
        Q_EMIT nodeActivated(hit.node);
    else if (hit.kind == Hit::Kind::nothing)
        Q_EMIT opWanted(event->position().toPoint(), std::nullopt);
}

/// Opens the content of a stub.
void CanvasWidget::activateStub(const StubShape& stub) {
    if (stub.kind == StubShape::Kind::onLane) {
        apply(collapseLane(m_document.graph(), stub.lane, false));
        return;
    }
    const NodeId node = stub.nodes.front();
    m_document.select({{stub.nodes.begin(), stub.nodes.end()}, {}, std::nullopt});
    leaveFor(node);
    bringIntoView(node);
}

void CanvasWidget::scrollAtRim() {
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
    const QPointF step(speed(m_lastPixel.x(), headerWidthFor(width()), width()),
                       speed(m_lastPixel.y(), 0, height()));
    if (step.isNull()) return;
    panBy(step);
    m_gesture->move(pointerAt(m_lastPixel, m_lastModifiers));
}

void CanvasWidget::wheelEvent(QWheelEvent* event) {
    const QPoint angle = event->angleDelta();
    const bool zooms = event->modifiers() & Qt::ControlModifier ||
                       !(isFromTouchpad(*event) || event->modifiers() & Qt::ShiftModifier || angle.y() == 0);
    event->accept();
    if (zooms) {
        m_view.zoomAt(event->position(), zoom() * std::pow(kWheelZoom, angle.y()));
        viewMoved();
    } else {
        QPointF pixels = event->pixelDelta().isNull() ? QPointF(angle) / 2 : QPointF(event->pixelDelta());
        // Shift makes a mouse wheel scroll horizontally.
        if (event->modifiers() & Qt::ShiftModifier && pixels.x() == 0) pixels = {pixels.y(), 0};
        panBy(pixels);
    }
    if (m_gesture) m_gesture->move(pointerAt(event->position(), event->modifiers()));
}

void CanvasWidget::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        if (m_gesture)
            cancelGesture();
        else if (m_inside != FrameId::none && m_document.selection().empty())
            leave();
        else
            m_document.select({});
        return;
    }
    if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
        m_spaceIsDown = true;
        updateCursor();
        return;
    }
    if (m_gesture) {
        QWidget::keyPressEvent(event);
        return;
    }
    if (event->matches(QKeySequence::SelectAll)) {
        selectAll();
        return;
    }
    QPointF arrow;
    switch (event->key()) {
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
        if (event->modifiers() & Qt::ControlModifier) break;
        if (event->key() == Qt::Key_Backspace && m_inside != FrameId::none && m_document.selection().empty())
            leave();
        else
            deleteSelection();
        return;
    case Qt::Key_A:
        if (event->modifiers() != Qt::ShiftModifier) break;
        requestOp();
        return;
    case Qt::Key_F:
        if (event->modifiers() & ~Qt::ShiftModifier) break;
        zoomToSelection();
        return;
    case Qt::Key_Left:
        arrow = {-1, 0};
        break;
    case Qt::Key_Right:
        arrow = {1, 0};
        break;
    case Qt::Key_Up:
        arrow = {0, -1};
        break;
    case Qt::Key_Down:
        arrow = {0, 1};
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_document.selection().nodes.size() == 1) {
            Q_EMIT nodeActivated(*m_document.selection().nodes.begin());
            return;
        }
        if (m_document.selection().notes.size() == 1) {
            Q_EMIT noteActivated(*m_document.selection().notes.begin());
            return;
        }
        break;
    default:
        break;
    }
    if (arrow.isNull() || event->modifiers() & Qt::AltModifier) {
        QWidget::keyPressEvent(event);
        return;
    }
    if (!(event->modifiers() & Qt::ControlModifier)) {
        walk(arrow.x() < 0   ? Way::toProducer
             : arrow.x() > 0 ? Way::toConsumer
             : arrow.y() < 0 ? Way::up
                             : Way::down);
        return;
    }
    const double step = event->modifiers() & Qt::ShiftModifier ? 4 * kGrid : kGrid;
    apply(nudge(m_document.graph(), m_document.selection(), arrow * step));
}

void CanvasWidget::keyReleaseEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
        m_spaceIsDown = false;
        updateCursor();
        return;
    }
    QWidget::keyReleaseEvent(event);
}

void CanvasWidget::leaveEvent(QEvent* event) {
    setHover({});
    QWidget::leaveEvent(event);
}

void CanvasWidget::focusInEvent(QFocusEvent* event) {
    m_showsFocus = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason ||
                   event->reason() == Qt::ShortcutFocusReason;
    QWidget::focusInEvent(event);
    update();
}

void CanvasWidget::focusOutEvent(QFocusEvent* event) {
    m_showsFocus = false;
    m_spaceIsDown = false;
    QWidget::focusOutEvent(event);
    update();
}

void CanvasWidget::contextMenuEvent(QContextMenuEvent* event) {
    if (event->reason() == QContextMenuEvent::Mouse && isHeader(QPointF(event->pos())))
        return; // handled by the header
    QPoint at = event->globalPos();
    if (event->reason() == QContextMenuEvent::Keyboard && m_document.selection().nodes.size() == 1) {
        if (const NodeShape* shape = m_scene.drawn(*m_document.selection().nodes.begin()))
            at = mapToGlobal(m_view.toPixel(shape->rect.center()).toPoint());
    }
    const bool byMouse = event->reason() == QContextMenuEvent::Mouse;
    Q_EMIT contextMenuRequested(byMouse ? m_scene.hitTest(m_view.toScene(event->pos()), zoom()) : Hit(), at);
}

void CanvasWidget::updateCursor() {
    Qt::CursorShape shape = Qt::ArrowCursor;
    if (m_gesture)
        shape = m_gesture->cursor();
    else if (m_spaceIsDown)
        shape = Qt::OpenHandCursor;
    else if (m_hover.kind == Hit::Kind::input || m_hover.kind == Hit::Kind::output)
        shape = Qt::CrossCursor;
    else if (m_hover.kind == Hit::Kind::wire || m_hover.kind == Hit::Kind::stub)
        shape = Qt::PointingHandCursor;
    else if (m_hover.kind == Hit::Kind::frame || m_hover.kind == Hit::Kind::dot)
        shape = Qt::SizeAllCursor;
    else if (laneEdgeAt(m_lastPixel) != LaneId::none && underMouse())
        shape = Qt::SizeVerCursor;
    else if (isHeader(m_lastPixel) && underMouse())
        shape = Qt::PointingHandCursor;
    if (cursor().shape() != shape) setCursor(shape);
}

bool CanvasWidget::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QString text;
        if (m_gesture)
            text.clear();
        else if (!isHeader(QPointF(help->pos())))
            text = tooltipFor(m_scene.hitTest(m_view.toScene(help->pos()), zoom()));
        else if (const LaneBand* band = m_scene.lane(laneAt(help->pos())))
            text = laneTooltip(band->device);
        if (text.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

} // namespace twb
