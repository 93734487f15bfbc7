#pragma once

#include "widgets/canvas/canvas_commands.h"
#include "widgets/canvas/canvas_figures.h"
#include "widgets/canvas/canvas_keys.h"
#include "widgets/canvas/canvas_mouse.h"
#include "widgets/canvas/canvas_navigator.h"
#include "widgets/canvas/canvas_picture.h"
#include "widgets/canvas/id_stream.h"
#include "widgets/canvas/minimap.h"
#include "widgets/canvas/palette_drops.h"
#include "widgets/document.h"
#include "widgets/frame_budget.h"
#include "widgets/wire_edits.h"

#include <QWidget>

namespace twb {

/// The canvas: shows a document's graph on its lanes, and edits it by mouse and keyboard. It paints itself;
/// every edit goes to the document as a Delta.
class CanvasWidget : public QWidget, private GestureHost {
    Q_OBJECT

public:
    explicit CanvasWidget(Document& document, QWidget* parent = nullptr);
    ~CanvasWidget() override;

    Document& document() override { return m_document; }
    const Scene& scene() const noexcept { return m_scene; }
    const CanvasView& view() const noexcept { return m_navigator.view(); }
    /// The point of the scene in the middle of the widget.
    QPointF middle() const { return view().toScene(rect().center()); }
    CanvasNavigator& navigator() noexcept { return m_navigator; }
    const CanvasFigures& figures() const noexcept { return m_figures; }
    CanvasCommands& commands() noexcept { return m_commands; }
    CanvasMouse& mouse() noexcept { return m_mouse; }
    Minimap& minimap() noexcept { return *m_minimap; }

    /// The state of a run; null for none. Must outlive the widget or be replaced.
    void setRunState(const RunState* run);
    /// Call it once a frame after the run state has changed.
    void runStateChanged();
    /// The quantity that shades the cards; a scale below the lane headers explains it.
    void setHeat(HeatBy by);
    /// Removes the wire that is drawn while the user chooses an op for it.
    void dropHeldWire();
    /// The whole graph as a picture, until the document changes.
    CanvasPicture picture();

    QSize sizeHint() const override { return {900, 600}; }
    QSize minimumSizeHint() const override { return {240, 160}; }

Q_SIGNALS:
    void nodeActivated(twb::NodeId node); ///< double click, or Return
    void noteActivated(twb::NoteId note); ///< double click: the note should be edited
    /// The selection now refers to `what`, or to nothing after a click on the empty canvas.
    void contextMenuRequested(const twb::Hit& what, QPoint globalPosition);
    void laneHeaderClicked(twb::LaneId lane, QPoint globalPosition);
    /// With `splice`: inserted into a wire.
    void opDropped(QString op, twb::LaneId lane, twb::Position position, std::optional<twb::Splice> splice);
    /// The user wants an op at a point of the widget. If it is for a loose wire, the wire is drawn until
    /// dropHeldWire().
    void opWanted(QPoint at, std::optional<twb::LooseWire> wire);
    void failed(QString sentence); ///< the graph refused an edit

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    Scene& hostScene() override { return m_scene; }
    double zoom() const override { return view().zoom(); }
    void panBy(QPointF pixels) override { m_navigator.panBy(pixels); }
    void repaint() override { update(); }
    void apply(Delta delta) override;
    void wantOp(QPointF pixel, const LooseWire& wire, const WirePreview& shown) override;

    void documentChanged(const Delta& delta);
    void documentReset();
    void devicesChanged();
    void stopEditing();
    void describe();
    PaintState paintState(double headerWidth) const;

    Document& m_document;
    Scene m_scene;
    CanvasNavigator m_navigator;
    CanvasFigures m_figures;
    CanvasCommands m_commands;
    CanvasMouse m_mouse;
    CanvasKeys m_keys;
    PaletteDrops m_drops;
    Minimap* m_minimap;
    FrameBudget m_runBudget; ///< limits repaints caused by a run
    Preview m_heldWire;      ///< while the user chooses an op for it
};

} // namespace twb
