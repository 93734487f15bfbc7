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

/// The canvas: shows a document's graph on its lanes, and edits it by mouse and keyboard. It paints itself;
/// every edit goes to the document as a Delta.
class CanvasWidget : public QWidget, private GestureHost {
    Q_OBJECT

public:
    explicit CanvasWidget(Document& document, QWidget* parent = nullptr);
    ~CanvasWidget() override;

    /// The state of a run; null for none. Must outlive the widget or be replaced.
    void setRunState(const RunState* run);
    /// Call it once a frame after the run state has changed.
    void runStateChanged();

    /// The open module: the canvas shows only its content. None: the whole graph.
    FrameId inside() const noexcept { return m_inside; }
    /// Opens a module, or shows the whole graph. The open module is not part of the document.
    void enter(FrameId module);
    /// Opens the parent of the open module.
    void leave();

    void zoomToFit();
    void zoomToSelection();
    void zoom100();
    void zoomIn();
    void zoomOut();
    void selectAll();
    /// Selects the next node in this direction; scrolls the view if nothing is selected.
    void walk(Way way);
    void deleteSelection();
    /// Adds a dot to the wire under the pointer, or in the middle of the longest segment of the selected
    /// wire. False if there is no wire.
    bool addDot();
    /// Scrolls a node into view and keeps the zoom unless it is too small to read. Leaves the open module if
    /// the node is outside, and opens the collapsed module that contains it.
    void reveal(NodeId node);
    void setMinimapVisible(bool visible);
    /// The quantity that shades the cards; a scale below the lane headers explains it.
    void setHeat(HeatBy by);
    const Heat& heat() const;
    /// The journey of the tensor on the wire under the pointer, or nothing.
    const std::optional<JourneyShape>& journey() const noexcept { return m_journey; }

    /// The lane at a point of the widget, or the nearest one; none if the graph has no lanes.
    LaneId laneAt(QPoint point) const;
    /// Asks for an op to add: under the pointer or, if that is outside, in the middle of the view.
    void requestOp();
    /// Removes the wire that is drawn while the user chooses an op for it.
    void dropHeldWire();
    /// The position in its lane, on the grid, for a note added here.
    Position positionAt(QPoint point) const;
    /// The position for a palette entry, clear of existing cards and notes.
    struct NewPlace {
        LaneId lane = LaneId::none;
        Position position;
        QRectF outline; ///< of its cards, on the canvas
        std::optional<Splice> splice;
    };
    /// The point of the outline that is under the pointer, or as near to it as there is room.
    enum class Grip : std::uint8_t { middle, left, right };
    /// For a point of the widget. With Grip::middle, the entry is inserted into a wire there.
    NewPlace placeFor(const QString& op, QPoint point, Grip grip = Grip::middle,
                      const std::optional<LooseWire>& held = std::nullopt) const;
    /// The innermost frame around a card centred there, or none.
    FrameId frameAt(LaneId lane, Position position) const;
    double zoom() const override { return m_view.zoom(); }
    QPointF toScene(QPointF pixel) const { return m_view.toScene(pixel); }
    QPointF toPixel(QPointF at) const { return m_view.toPixel(at); }
    QRectF viewport() const { return m_view.viewport(); }
    const Scene& scene() const noexcept { return m_scene; }
    void centerOn(QPointF at);
    /// The centre of the view and the zoom.
    struct Spot {
        QPointF middle;
        double zoom = 1;
    };
    Spot spot() const { return {m_view.freeViewport().center(), zoom()}; }
    void show(const Spot& spot);
    using QWidget::show;
    /// The whole graph as a picture, with `scale` pixels per canvas unit.
    QImage renderImage(double scale);
    /// The size at 100 %.
    QSizeF pictureSize() const;
    /// Paints the whole graph into `target`, for SVG and PDF.
    void renderTo(QPainter& painter, const QRectF& target);

    QSize sizeHint() const override { return {900, 600}; }
    QSize minimumSizeHint() const override { return {240, 160}; }

Q_SIGNALS:
    void nodeActivated(twb::NodeId node); ///< double click
    void noteActivated(twb::NoteId note); ///< double click: the note should be edited
    /// The selection now refers to `what`, or to nothing after a click on the empty canvas.
    void contextMenuRequested(const twb::Hit& what, QPoint globalPosition);
    void laneHeaderClicked(twb::LaneId lane, QPoint globalPosition);
    /// With `splice`: inserted into a wire.
    void opDropped(QString op, twb::LaneId lane, twb::Position position, std::optional<twb::Splice> splice);
    /// The user wants an op at a point of the widget. If it is for a loose wire, the wire is drawn until
    /// dropHeldWire().
    void opWanted(QPoint at, std::optional<twb::LooseWire> wire);
    void insideChanged();
    void viewChanged();            ///< zoom or scroll
    void failed(QString sentence); ///< the graph refused an edit

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
    /// Scrolls the shape of a node into view.
    void bringIntoView(NodeId node);
    /// Leaves modules until the open one contains the node.
    void leaveFor(NodeId node);
    /// After an edit removed the open module: opens the nearest remaining parent.
    bool leavesWhatIsGone(const Delta& delta);
    /// Opens the bodies of an If, Loop or Scan. False for a node without bodies.
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
    /// The node, or all nodes of the collapsed module that contains it.
    std::set<NodeId> nodesAt(NodeId id) const;
    /// The lane whose collapse arrow is there, or none.
    LaneId laneArrowAt(QPointF pixel) const;
    /// The lane whose bottom edge is there, in its header, or none.
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
    /// The dot at a point, if the wire shows it.
    std::optional<Dot> dotAt(const WireShape& wire, QPointF at) const;
    bool addDot(const WireShape& wire, const DotPlace& place);
    /// With Shift; null otherwise, and if the wire takes no dot.
    std::unique_ptr<Gesture> pullDot(const Edge& edge, const Pointer& pointer);
    bool walkAlongDots(Way way);
    void placeMinimap();
    bool mayStandHere(const QRect& minimap, bool onWires) const;
    const QRectF& content() const;
    QString tooltipFor(const Hit& hit) const;
    /// The source of the hardware's figures.
    QString laneTooltip(Device device) const;

    Document& m_document;
    Scene m_scene;
    CanvasView m_view;
    FrameId m_inside = FrameId::none;
    std::map<FrameId, Spot> m_spots; ///< the view around each module that was opened
    const RunState* m_run = nullptr;
    FrameBudget m_runBudget; ///< limits repaints caused by a run
    std::unique_ptr<Gesture> m_gesture;
    Preview m_dropPreview;
    Preview m_heldWire; ///< while the user chooses an op for it
    Hit m_hover;
    std::optional<JourneyShape> m_journey; ///< of the wire under the pointer
    HeatBy m_heatBy = HeatBy::none;
    mutable Heat m_heat;
    mutable bool m_heatIsOld = true;
    QPointF m_lastPixel;
    Qt::KeyboardModifiers m_lastModifiers;
    LaneId m_pressedHeader = LaneId::none;
    QPointF m_pressedPixel;
    bool m_spaceIsDown = false;
    bool m_isFitted = true; ///< fits the whole graph at any size until the user scrolls or zooms
    bool m_showsFocus = false;
    std::map<Device, MemoryStats> m_memory;
    QTimer m_rimTimer;
    Minimap* m_minimap = nullptr;
    bool m_minimapWanted = true;
    mutable QRectF m_content;
    mutable std::uint64_t m_contentVersion = ~std::uint64_t{0};
};

} // namespace twb
