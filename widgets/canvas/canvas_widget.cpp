#include "widgets/canvas/canvas_widget.h"

#include "core/error.h"
#include "widgets/canvas/minimap.h"
#include "widgets/graph_edits.h"

#include <QEvent>
#include <QPainter>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr double kZoomStep = 1.2;
constexpr double kFullZoom = 0.6;

} // namespace

CanvasWidget::CanvasWidget(Document& document, QWidget* parent) : QWidget(parent), m_document(document) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAcceptDrops(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Graph canvas"));
    m_minimap = new Minimap(*this, m_scene);
    m_rimTimer.setInterval(16);
    connect(&m_rimTimer, &QTimer::timeout, this, &CanvasWidget::scrollAtRim);
    connect(&document, &Document::changed, this, &CanvasWidget::documentChanged);
    connect(&document, &Document::reset, this, &CanvasWidget::documentReset);
    connect(&document, &Document::selectionChanged, this, qOverload<>(&QWidget::update));
    connect(&document, &Document::devicesChanged, this, [this] {
        m_scene.refresh(source());
        m_heatIsOld = true;
        readMemory();
        update();
    });
    documentReset();
}

CanvasWidget::~CanvasWidget() = default;

SceneSource CanvasWidget::source() const {
    return {m_document.graph(), m_document.analysis(), m_document.devices(), m_inside};
}

void CanvasWidget::documentReset() {
    cancelGesture();
    m_heldWire = {};
    setHover({});
    m_spots.clear();
    if (std::exchange(m_inside, FrameId::none) != FrameId::none) Q_EMIT insideChanged();
    m_heatIsOld = true;
    m_scene.rebuild(source());
    readMemory();
    zoomToFit();
    setAccessibleDescription(tr("%n node(s) on lanes, one lane per device", nullptr,
                                static_cast<int>(m_document.graph().nodes().size())));
    update();
}

void CanvasWidget::documentChanged(const Delta& delta) {
    cancelGesture();
    m_heldWire = {};
    const bool leaves = leavesWhatIsGone(delta);
    if (leaves)
        m_scene.rebuild(source());
    else
        m_scene.update(source(), delta, m_document.revised());
    m_heatIsOld = true;
    setHover({});
    if (leaves) {
        Q_EMIT insideChanged();
        zoomToFit();
    }
    placeMinimap();
    update();
}

void CanvasWidget::cancelGesture() {
    if (!m_gesture) return;
    m_rimTimer.stop();
    const std::unique_ptr<Gesture> gesture = std::move(m_gesture);
    gesture->cancel();
    updateCursor();
}

void CanvasWidget::apply(Delta delta) {
    try {
        m_document.apply(std::move(delta));
    } catch (const Error& error) {
        Q_EMIT failed(QString::fromUtf8(error.what()));
    }
}

void CanvasWidget::requestOp() {
    QPoint at = m_lastPixel.toPoint();
    if (!underMouse() || isHeader(m_lastPixel))
        at = m_view.toPixels(m_view.freeViewport()).center().toPoint();
    Q_EMIT opWanted(at, std::nullopt);
}

void CanvasWidget::wantOp(QPointF pixel, const LooseWire& wire, const WirePreview& shown) {
    m_heldWire.wire = shown;
    update();
    Q_EMIT opWanted(pixel.toPoint(), wire);
}

void CanvasWidget::dropHeldWire() {
    m_heldWire = {};
    update();
}

void CanvasWidget::setRunState(const RunState* run) {
    m_run = run;
    runStateChanged();
}

void CanvasWidget::runStateChanged() {
    if (m_run && m_run->running && !m_runBudget.isDue()) return;
    readMemory();
    m_heatIsOld = true;
    update();
}

void CanvasWidget::setHover(const Hit& hit) {
    if (hit == m_hover) return;
    m_hover = hit;
    m_journey.reset();
    if (hit.kind == Hit::Kind::wire)
        m_journey = journeyShape(m_scene, m_document.graph(), m_document.analysis(), hit.wire);
    updateCursor();
    update();
}

void CanvasWidget::setHeat(HeatBy by) {
    m_heatBy = by;
    m_heatIsOld = true;
    if (m_isFitted) zoomToFit(); // above the scale
    placeMinimap();
    update();
}

const Heat& CanvasWidget::heat() const {
    if (std::exchange(m_heatIsOld, false)) m_heat = heatOf(m_scene, m_document.analysis(), m_run, m_heatBy);
    return m_heat;
}

void CanvasWidget::readMemory() {
    m_memory.clear();
    for (const LaneBand& band : m_scene.lanes()) {
        if (Backend* backend = m_document.devices().find(band.device))
            m_memory[band.device] = backend->memory().stats();
    }
}

const QRectF& CanvasWidget::content() const {
    if (m_contentVersion != m_scene.version()) {
        m_content = m_scene.extent();
        m_contentVersion = m_scene.version();
    }
    return m_content;
}

void CanvasWidget::viewMoved() {
    m_isFitted = false;
    showView();
}

void CanvasWidget::showView() {
    m_view.keepInSight(content());
    placeMinimap();
    m_minimap->viewMoved();
    update();
    Q_EMIT viewChanged();
}

void CanvasWidget::zoomToFit() {
    m_view.setSize(size(), devicePixelRatioF());
    m_view.setHeaderWidth(headerWidthFor(width()));
    const QRectF scale = m_heatBy == HeatBy::none ? QRectF() : heatScaleBox(QSizeF(size()));
    m_view.fit(m_scene.shownExtent(), 1.0, scale.isEmpty() ? 0 : height() - scale.top());
    m_isFitted = true;
    showView();
}

void CanvasWidget::zoomToSelection() {
    const Selection& selection = m_document.selection();
    std::vector<NodeId> nodes(selection.nodes.begin(), selection.nodes.end());
    if (selection.edge) nodes.insert(nodes.end(), {selection.edge->from.node, selection.edge->to.node});
    QRectF area = m_scene.boundsOf(nodes, {selection.notes.begin(), selection.notes.end()});
    for (const DotRef& ref : selection.dots)
        if (const DotShape* dot = m_scene.dot(ref)) area |= QRectF(dot->at, QSizeF(1, 1));
    if (area.isEmpty()) {
        zoomToFit();
        return;
    }
    zoomTo(area);
}

void CanvasWidget::zoomTo(const QRectF& area) {
    m_view.fit(area.adjusted(-40, -40, 40, 40), 1.0);
    m_view.centerOn(area.center());
    viewMoved();
}

bool CanvasWidget::openBodies(NodeId owner) {
    QRectF area;
    for (const Frame& frame : m_document.graph().frames())
        if (frame.owner == owner) area |= m_scene.boundsOf(m_scene.nodesOf(frame.id, m_document.graph()), {});
    if (area.isEmpty()) return false;
    zoomTo(area);
    return true;
}

void CanvasWidget::zoom100() {
    m_view.zoomAt(QRectF(rect()).center(), 1.0);
    viewMoved();
}

void CanvasWidget::zoomIn() {
    m_view.zoomAt(QRectF(rect()).center(), zoom() * kZoomStep);
    viewMoved();
}

void CanvasWidget::zoomOut() {
    m_view.zoomAt(QRectF(rect()).center(), zoom() / kZoomStep);
    viewMoved();
}

void CanvasWidget::panBy(QPointF pixels) {
    m_view.panBy(pixels);
    viewMoved();
}

void CanvasWidget::centerOn(QPointF at) {
    m_view.centerOn(at);
    viewMoved();
}

void CanvasWidget::show(const Spot& spot) {
    m_view.zoomAt(QRectF(rect()).center(), spot.zoom);
    centerOn(spot.middle);
}

void CanvasWidget::bringIntoView(NodeId node) {
    const NodeShape* shape = m_scene.drawn(node);
    if (!shape) return;
    const bool isReadable = zoom() >= kFullZoom;
    if (isReadable && m_view.freeViewport().contains(shape->rect)) return;
    if (!isReadable) m_view.zoomAt(QRectF(rect()).center(), 1.0);
    centerOn(shape->rect.center());
}

LaneId CanvasWidget::laneAt(QPoint point) const {
    const LaneBand* band = m_scene.laneAt(m_view.toScene(point).y());
    return band ? band->id : LaneId::none;
}

Position CanvasWidget::positionAt(QPoint point) const {
    const QPointF at = m_view.toScene(point);
    const LaneBand* band = m_scene.laneAt(at.y());
    const auto onGrid = [](double x) { return std::max(kGrid, std::round(x / kGrid) * kGrid); };
    return {onGrid(at.x() - card::minWidth / 2), onGrid(at.y() - (band ? band->top : 0) - card::height / 2)};
}

FrameId CanvasWidget::frameAt(LaneId lane, Position position) const {
    const LaneBand* band = m_scene.lane(lane);
    if (!band) return FrameId::none;
    return m_scene.frameAround({position.x + card::minWidth / 2, band->top + position.y + card::height / 2});
}

void CanvasWidget::selectAll() {
    Selection all;
    for (const Node& node : m_document.graph().nodes()) all.nodes.insert(node.id);
    if (m_inside != FrameId::none) {
        const std::vector<NodeId> inside = m_scene.nodesOf(m_inside, m_document.graph());
        m_document.select({{inside.begin(), inside.end()}, {}, std::nullopt});
        return;
    }
    for (const Note& note : m_document.graph().notes()) all.notes.insert(note.id);
    m_document.select(std::move(all));
}

void CanvasWidget::walk(Way way) {
    constexpr double kPan = 64; // pixels
    if (walkAlongDots(way)) return;
    const Selection& selection = m_document.selection();
    NodeId next = NodeId::none;
    if (selection.edge)
        next = way == Way::toProducer ? selection.edge->from.node : selection.edge->to.node;
    else if (!selection.nodes.empty())
        next = stepFrom(m_scene, m_document.graph(), *selection.nodes.begin(), way);
    if (next != NodeId::none) {
        m_document.select({{next}, {}, std::nullopt});
        bringIntoView(next);
        return;
    }
    const QPointF steps[] = {{kPan, 0}, {-kPan, 0}, {0, kPan}, {0, -kPan}};
    panBy(steps[int(way)]);
}

void CanvasWidget::deleteSelection() { apply(removeSelection(m_document.graph(), m_document.selection())); }

void CanvasWidget::setMinimapVisible(bool visible) {
    m_minimapWanted = visible;
    placeMinimap();
}

/// The map is hidden if it would cover a note, or a part of a graph that fits the view.
bool CanvasWidget::mayStandHere(const QRect& minimap, bool onWires) const {
    const QRectF under(m_view.toScene(minimap.topLeft()), QSizeF(minimap.size()) / zoom());
    bool isFree = m_heatBy == HeatBy::none || !heatScaleBox(QSizeF(size())).intersects(QRectF(minimap));
    for (const NoteShape& note : m_scene.notes()) isFree = isFree && !note.rect.intersects(under);
    for (const StubShape& stub : m_scene.stubs()) isFree = isFree && !stub.rect.intersects(under);
    const QRectF all = m_inside == FrameId::none ? content() : m_scene.shownExtent();
    if (m_view.freeViewport().contains(all.adjusted(0, 1, 0, -1))) {
        isFree = isFree && !m_scene.hasNodeIn(under);
        isFree = isFree && (onWires || !m_scene.hasWireIn(under));
    }
    return isFree;
}

void CanvasWidget::placeMinimap() {
    if (QWidget::mouseGrabber() == m_minimap) return; // the map does not move during a drag in it
    constexpr int kMargin = 14;
    const QSize size = m_minimap->sizeHint();
    const int right = width() - size.width() - kMargin;
    const int left = static_cast<int>(headerWidthFor(width())) + kMargin;
    const int bottom = height() - size.height() - kMargin;
    const QPoint corners[] = {{right, kMargin}, {right, bottom}, {left, bottom}, {left, kMargin}};
    const bool hasRoom = width() > 3 * size.width() && height() > 3 * size.height();
    const QPoint* corner = std::end(corners);
    for (const bool onWires : {false, true})
        if (corner == std::end(corners))
            corner = std::find_if(std::begin(corners), std::end(corners),
                                  [&](QPoint at) { return mayStandHere(QRect(at, size), onWires); });
    const bool isFound = corner != std::end(corners);
    if (isFound) m_minimap->setGeometry(QRect(*corner, size));
    m_minimap->setVisible(m_minimapWanted && hasRoom && isFound);
}

PaintState CanvasWidget::paintState() const {
    PaintState state(Theme::current());
    state.run = m_run;
    state.selection = &m_document.selection();
    state.hover = m_hover;
    if (m_heatBy != HeatBy::none) state.heat = &heat();
    if (m_journey && !m_gesture) state.journey = &*m_journey;
    state.memory = m_memory;
    state.headerWidth = headerWidthFor(width());
    if (m_gesture) {
        state.preview = &m_gesture->preview();
        if (m_gesture->selection()) state.selection = &*m_gesture->selection();
    } else if (m_dropPreview.drop) {
        state.preview = &m_dropPreview;
    } else if (m_heldWire.wire) {
        state.preview = &m_heldWire;
    }
    return state;
}

PaintState CanvasWidget::pictureState() const {
    PaintState state = paintState();
    state.preview = nullptr;
    state.hover = {};
    state.journey = nullptr;
    state.selection = nullptr;
    state.headerWidth = headerWidthFor(1e6);
    return state;
}

QImage CanvasWidget::renderImage(double scale) {
    return renderCanvas(m_scene, source(), pictureState(), scale);
}

QSizeF CanvasWidget::pictureSize() const {
    return pictureExtent(m_scene, pictureState()).size() + QSizeF(headerWidthFor(1e6), 0);
}

void CanvasWidget::renderTo(QPainter& painter, const QRectF& target) {
    const PaintState state = pictureState();
    const QSizeF size = pictureSize();
    const double scale = std::min(target.width() / size.width(), target.height() / size.height());
    const QRectF viewport(pictureExtent(m_scene, state).topLeft() - QPointF(state.headerWidth, 0), size);
    m_scene.prepare(source(), viewport, 1.0, m_run);
    painter.save();
    painter.translate(target.topLeft());
    painter.scale(scale, scale);
    painter.setClipRect(QRectF(QPointF(), viewport.size()));
    paintCanvas(painter, m_scene, state, viewport, 1.0);
    painter.restore();
}

void CanvasWidget::paintEvent(QPaintEvent*) {
    m_runBudget.begin();
    QPainter painter(this);
    const QRectF viewport = m_view.viewport();
    m_scene.prepare(source(), viewport, zoom(), m_run);
    paintCanvas(painter, m_scene, paintState(), viewport, zoom());
    const Theme& theme = Theme::current();
    if (m_document.graph().nodes().empty() && m_document.graph().notes().empty() && !m_dropPreview.drop) {
        painter.setFont(twb::font(TextRole::panelTitle));
        painter.setPen(theme.secondaryText);
        const QRectF room = QRectF(rect()).adjusted(headerWidthFor(width()), 0, 0, 0);
        painter.drawText(room, Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Drag an op from the palette to a lane, or press Shift+A to search for one"));
    }
    if (m_showsFocus) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.accent, 2));
        painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
    }
    m_minimap->sceneMayHaveChanged();
    m_runBudget.end();
}

void CanvasWidget::resizeEvent(QResizeEvent*) {
    if (m_isFitted) return zoomToFit();
    m_view.setSize(size(), devicePixelRatioF());
    m_view.setHeaderWidth(headerWidthFor(width()));
    showView();
}

void CanvasWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) update();
    QWidget::changeEvent(event);
}

} // namespace twb
