#pragma once

#include "widgets/canvas/canvas_view.h"
#include "widgets/canvas/gestures/gesture.h"
#include "widgets/canvas/id_stream.h"
#include "widgets/canvas/paint_canvas.h"
#include "widgets/canvas/scene.h"
#include "widgets/canvas/walk.h"
#include "widgets/document.h"
#include "widgets/frame_budget.h"
#include "widgets/wire_edits.h"

#include <QTimer>
#include <QWidget>

#include <memory>

namespace twb {

class Minimap;

/// The canvas: shows a document's graph on its lanes and edits it by mouse and keys. Draws itself; every edit
/// goes to the document as a Delta.
class CanvasWidget : public QWidget, private GestureHost {
    Q_OBJECT

public:
    explicit CanvasWidget(Document& document, QWidget* parent = nullptr);
    ~CanvasWidget() override;

    /// What a run has shown; null for nothing. Must outlive the widget or be replaced.
    void setRunState(const RunState* run);
    /// Once a frame, after the run state was written to.
    void runStateChanged();

    /// The module that is open: the canvas shows nothing but what is in it. None: the whole graph.
    FrameId inside() const noexcept { return m_inside; }
    /// Opens a module, or shows the whole graph again. Which one is no part of the document.
    void enter(FrameId module);
    /// To the module around the one that is open.
    void leave();

    void zoomToFit();
    void zoomToSelection();
    void zoom100();
    void zoomIn();
    void zoomOut();
    void selectAll();
    /// Selects the next node on this way; moves the view where nothing is selected.
    void walk(Way way);
    void deleteSelection();
    /// Puts a dot on the wire under the pointer, there; or on the one that is selected, in the middle of its
    /// longest stretch. False where there is none.
    bool addDot();
    /// Brings a node into view without changing the zoom, unless it is too small to read. Leaves the module
    /// that is open where the node is not in it, and opens the collapsed one that it is in.
    void reveal(NodeId node);
    void setMinimapVisible(bool visible);
    /// What cards are shaded by, with a scale below the lanes' headers.
    void setHeat(HeatBy by);
    const Heat& heat() const;
    /// The way of the tensor on the wire under the pointer; nothing elsewhere.
    const std::optional<JourneyShape>& journey() const noexcept { return m_journey; }

    /// The lane at a point of the widget; the nearest one beyond them; none when the graph has no lanes.
    LaneId laneAt(QPoint point) const;
    /// Asks for an op to add: under the pointer, or in the middle of the view while that is elsewhere.
    void requestOp();
    /// Takes away the wire that is drawn while an op for it is chosen.
    void dropHeldWire();
    /// Where in its lane a note added here would stand, on the grid.
    Position positionAt(QPoint point) const;
    /// Where a palette entry comes to stand, clear of the cards and notes that are there.
    struct NewPlace {
        LaneId lane = LaneId::none;
        Position position;
        QRectF outline; ///< of its cards, on the canvas
        std::optional<Splice> splice;
    };
    /// What of the outline comes under the pointer, as near as there is room.
    enum class Grip : std::uint8_t { middle, left, right };
    /// For a point of the widget. With Grip::middle, a wire there takes the entry in.
    NewPlace placeFor(const QString& op, QPoint point, Grip grip = Grip::middle,
                      const std::optional<LooseWire>& held = std::nullopt) const;
    /// The innermost frame around the middle of a card there; none where there is none.
    FrameId frameAt(LaneId lane, Position position) const;
    double zoom() const override { return m_view.zoom(); }
    QPointF toScene(QPointF pixel) const { return m_view.toScene(pixel); }
    QPointF toPixel(QPointF at) const { return m_view.toPixel(at); }
    QRectF viewport() const { return m_view.viewport(); }
    const Scene& scene() const noexcept { return m_scene; }
    void centerOn(QPointF at);
    /// What is in the middle of the view, and how large.
    struct Spot {
        QPointF middle;
        double zoom = 1;
    };
    Spot spot() const { return {m_view.freeViewport().center(), zoom()}; }
    void show(const Spot& spot);
    using QWidget::show;
    /// The whole graph as a picture, `scale` pixels for a canvas unit.
    QImage renderImage(double scale);
    /// Its width and height at 100 %.
    QSizeF pictureSize() const;
    /// Draws the whole graph into `target`: for SVG and PDF.
    void renderTo(QPainter& painter, const QRectF& target);

    QSize sizeHint() const override { return {900, 600}; }
    QSize minimumSizeHint() const override { return {240, 160}; }

Q_SIGNALS:
    void nodeActivated(twb::NodeId node); ///< double click
    void noteActivated(twb::NoteId note); ///< double click: it wants to be edited
    /// The selection is about `what` then; nothing where the empty canvas was clicked.
    void contextMenuRequested(const twb::Hit& what, QPoint globalPosition);
    void laneHeaderClicked(twb::LaneId lane, QPoint globalPosition);
    /// With `splice`, into a wire.
    void opDropped(QString op, twb::LaneId lane, twb::Position position, std::optional<twb::Splice> splice);
    /// An op is wanted at a point of the widget; where it is for a wire in the hand, this is drawn until
    /// dropHeldWire().
    void opWanted(QPoint at, std::optional<twb::LooseWire> wire);
    void insideChanged();
    void viewChanged();            ///< zoomed or moved
    void failed(QString sentence); ///< an edit that the graph refused

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void keyReleaseEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void zoomTo(const QRectF& area);
    /// Brings what stands for a node into view.
    void bringIntoView(NodeId node);
    /// Leaves modules until a node is in the one that is open.
    void leaveFor(NodeId node);
    /// After an edit that took away the module that is open: what is left of those around it is open then.
    bool leavesWhatIsGone(const Delta& delta);
    /// Shows the bodies of an If, Loop or Scan. False for a node that has none.
    bool openBodies(NodeId owner);

    Document& document() override { return m_document; }
    Scene& hostScene() override { return m_scene; }
    void panBy(QPointF pixels) override;
    void repaint() override { update(); }
    void apply(Delta delta) override;
    void wantOp(QPointF pixel, const LooseWire& wire, const WirePreview& shown) override;

    SceneSource source() const;
    PaintState paintState() const;
    PaintState pictureState() const;
    Pointer pointerAt(QPointF pixel, Qt::KeyboardModifiers modifiers) const;
    bool isHeader(QPointF pixel) const;
    /// The node, or all of the collapsed module that it is in.
    std::set<NodeId> nodesAt(NodeId id) const;
    /// The lane whose arrow, which collapses it, is there; none where there is none.
    LaneId laneArrowAt(QPointF pixel) const;
    /// The lane whose lower edge is there, in its header; none where there is none.
    LaneId laneEdgeAt(QPointF pixel) const;
    void documentChanged(const Delta& delta);
    void documentReset();
    void cancelGesture();
    /// The wire that an op from the palette would be put into.
    std::optional<Splice> spliceAt(QPointF at, const QString& op) const;
    QRectF outlineOf(const QString& op, const LaneBand& band, const std::optional<Splice>& splice,
                     const std::optional<LooseWire>& held) const;
    std::unique_ptr<Gesture> gestureFor(const Hit& hit, const Pointer& pointer);
    void selectForPress(const Hit& hit, const Pointer& pointer);
    void setHover(const Hit& hit);
    void updateCursor();
    void scrollAtRim();
    void viewMoved();
    void showView();
    void readMemory();
    void activateStub(const StubShape& stub);
    /// The dot itself; nothing where a wire shows none.
    std::optional<Dot> dotAt(const WireShape& wire, QPointF at) const;
    bool addDot(const WireShape& wire, const DotPlace& place);
    /// With Shift; null otherwise, and where the wire takes no dot.
    std::unique_ptr<Gesture> pullDot(const Edge& edge, const Pointer& pointer);
    bool walkAlongDots(Way way);
    void placeMinimap();
    bool mayStandHere(const QRect& minimap, bool onWires) const;
    const QRectF& content() const;
    QString tooltipFor(const Hit& hit) const;
    /// Where the times of what stands behind it come from.
    QString laneTooltip(Device device) const;

    Document& m_document;
    Scene m_scene;
    CanvasView m_view;
    FrameId m_inside = FrameId::none;
    std::map<FrameId, Spot> m_spots; ///< what was in view around what was opened since
    const RunState* m_run = nullptr;
    FrameBudget m_runBudget; ///< of repaints that only a run asks for
    std::unique_ptr<Gesture> m_gesture;
    Preview m_dropPreview;
    Preview m_heldWire; ///< while an op is chosen for it
    Hit m_hover;
    std::optional<JourneyShape> m_journey; ///< of the wire that it is
    HeatBy m_heatBy = HeatBy::none;
    mutable Heat m_heat;
    mutable bool m_heatIsOld = true;
    QPointF m_lastPixel;
    Qt::KeyboardModifiers m_lastModifiers;
    LaneId m_pressedHeader = LaneId::none;
    QPointF m_pressedPixel;
    bool m_spaceIsDown = false;
    bool m_isFitted =
        true; ///< shows the whole graph until somebody goes elsewhere, whatever its size becomes
    bool m_showsFocus = false;
    std::map<Device, MemoryStats> m_memory;
    QTimer m_rimTimer;
    Minimap* m_minimap = nullptr;
    bool m_minimapWanted = true;
    mutable QRectF m_content;
    mutable std::uint64_t m_contentVersion = ~std::uint64_t{0};
};

} // namespace twb
