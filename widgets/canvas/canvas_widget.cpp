#include "widgets/canvas/canvas_widget.h"

#include "core/error.h"
#include "widgets/canvas/canvas_accessible.h"

#include <QEvent>
#include <QPainter>

#include <utility>

namespace twb {

CanvasWidget::CanvasWidget(Document& document, QWidget* parent)
    : QWidget((makeCanvasAccessible(), parent)), m_document(document), m_navigator(*this, document, m_scene),
      m_figures(document, m_scene), m_commands(*this, *this), m_mouse(*this, *this), m_keys(*this),
      m_drops(*this), m_minimap(new Minimap(*this, m_scene)) {
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Graph canvas"));
    connect(&m_navigator, &CanvasNavigator::entering, this, &CanvasWidget::stopEditing);
    connect(&m_navigator, &CanvasNavigator::insideChanged, this, [this] {
        m_figures.outdateHeat();
        describe();
    });
    connect(&m_navigator, &CanvasNavigator::moved, this, [this] {
        m_minimap->place();
        m_minimap->update();
        update();
    });
    connect(&document, &Document::changed, this, &CanvasWidget::documentChanged);
    connect(&document, &Document::reset, this, &CanvasWidget::documentReset);
    connect(&document, &Document::selectionChanged, this, [this] {
        announceSelection(*this);
        update();
    });
    connect(&document, &Document::devicesChanged, this, &CanvasWidget::devicesChanged);
    documentReset();
}

CanvasWidget::~CanvasWidget() = default;

/// Ends what the user does to a scene that is about to change.
void CanvasWidget::stopEditing() {
    m_mouse.cancelGesture();
    m_heldWire = {};
    m_mouse.clearHover();
}

void CanvasWidget::describe() {
    const Graph& graph = m_document.graph();
    const Frame* module = graph.find(m_navigator.inside());
    setAccessibleDescription(module ? tr("Module %1").arg(QString::fromStdString(module->title))
                             : graph.nodes().size() == 1 ? tr("1 node on a lane")
                                                         : tr("%1 nodes on lanes").arg(graph.nodes().size()));
}

void CanvasWidget::documentReset() {
    stopEditing();
    m_navigator.reset();
    m_figures.refresh();
    describe();
    update();
}

void CanvasWidget::documentChanged(const Delta& delta) {
    m_mouse.cancelGesture();
    m_heldWire = {};
    m_navigator.follow(delta);
    if (delta.lanes.empty())
        m_figures.outdateHeat();
    else
        m_figures.refresh();
    m_mouse.clearHover();
    m_minimap->place();
    update();
}

void CanvasWidget::devicesChanged() {
    m_scene.update(m_navigator.source());
    m_figures.refresh();
    update();
}

void CanvasWidget::apply(Delta delta) {
    try {
        m_document.apply(std::move(delta));
    } catch (const Error& error) {
        Q_EMIT failed(QString::fromUtf8(error.what()));
    }
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
    m_figures.setRun(run);
    runStateChanged();
}

void CanvasWidget::runStateChanged() {
    if (m_figures.run() && m_figures.run()->running && !m_runBudget.isDue()) return;
    m_figures.refresh();
    update();
}

void CanvasWidget::setHeat(HeatBy by) {
    m_figures.setHeatBy(by);
    m_navigator.makeRoomForScale(by != HeatBy::none);
    m_minimap->place();
    update();
}

PaintState CanvasWidget::paintState(double headerWidth) const {
    PaintState state(Theme::current());
    state.run = m_figures.run();
    state.selection = &m_document.selection();
    state.hover = m_mouse.hover();
    if (m_figures.heatBy() != HeatBy::none) state.heat = &m_figures.heat();
    const Gesture* gesture = m_mouse.gesture();
    if (m_mouse.journey() && !gesture) state.journey = &*m_mouse.journey();
    state.memory = m_figures.memory();
    state.headerWidth = headerWidth;
    if (gesture) {
        state.preview = &gesture->preview();
        if (gesture->selection()) state.selection = &*gesture->selection();
    } else if (m_drops.preview().drop) {
        state.preview = &m_drops.preview();
    } else if (m_heldWire.wire) {
        state.preview = &m_heldWire;
    }
    return state;
}

CanvasPicture CanvasWidget::picture() {
    constexpr double kWideView = 1e6; // headers have their full width
    return {m_scene, m_navigator.source(), paintState(headerWidthFor(kWideView))};
}

void CanvasWidget::paintEvent(QPaintEvent*) {
    m_runBudget.begin();
    QPainter painter(this);
    const QRectF viewport = view().viewport();
    const double headerWidth = headerWidthFor(width());
    m_scene.prepare(m_navigator.source(), viewport, zoom(), m_figures.run());
    paintCanvas(painter, m_scene, paintState(headerWidth), viewport, zoom());
    const Theme& theme = Theme::current();
    const Graph& graph = m_document.graph();
    if (graph.nodes().empty() && graph.notes().empty() && !m_drops.preview().drop) {
        painter.setFont(twb::font(TextRole::panelTitle));
        painter.setPen(theme.secondaryText);
        painter.drawText(QRectF(rect()).adjusted(headerWidth, 0, 0, 0), Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Drag an op from the palette to a lane, or press Shift+A to search for one"));
    }
    if (m_keys.showsFocus()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.accent, 2));
        painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
    }
    m_minimap->sceneMayHaveChanged();
    m_runBudget.end();
}

void CanvasWidget::resizeEvent(QResizeEvent*) { m_navigator.resize(); }

void CanvasWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) update();
    QWidget::changeEvent(event);
}

} // namespace twb
