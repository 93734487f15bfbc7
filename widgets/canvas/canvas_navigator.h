#pragma once

#include "widgets/canvas/canvas_view.h"
#include "widgets/canvas/scene.h"

#include <QObject>

#include <map>

class QWidget;

namespace twb {

class Document;

/// The part of a document's graph that the canvas shows: the open module, the place and the zoom. Keeps the
/// scene in step with the document.
class CanvasNavigator : public QObject {
    Q_OBJECT

public:
    CanvasNavigator(QWidget& canvas, Document& document, Scene& scene);

    const CanvasView& view() const noexcept { return m_view; }
    /// The open module: the canvas shows only its content. None: the whole graph.
    FrameId inside() const noexcept { return m_inside; }
    SceneSource source() const;
    /// The bounds of everything in the scene.
    const QRectF& content() const;

    /// Shows the whole new graph.
    void reset();
    /// After an edit. If it removed the open module, opens the nearest remaining parent.
    void follow(const Delta& delta);
    /// After the canvas changed its size.
    void resize();
    /// Keeps the scale of the heat clear of a view that fits the graph.
    void makeRoomForScale(bool isShown);

    /// Opens a module, or shows the whole graph. The open module is not part of the document.
    void enter(FrameId module);
    /// Opens the parent of the open module.
    void leave();
    /// Scrolls a node into view and keeps the zoom unless it is too small to read. Leaves the open module if
    /// the node is outside, and opens the collapsed module that contains it.
    void reveal(NodeId node);
    /// The same, but opens and leaves no module.
    void bringIntoView(NodeId node);
    /// Leaves modules until the open one contains the node.
    void leaveFor(NodeId node);

    void zoomToFit();
    /// Whether the view was fitted and not moved since.
    bool isFitted() const noexcept { return m_isFitted; }
    void zoomToSelection();
    void zoomTo(const QRectF& area);
    void zoom100();
    void zoomIn();
    void zoomOut();
    /// Zooms around a pixel.
    void zoomAt(QPointF pixel, double zoom);
    void panBy(QPointF pixels);
    void centerOn(QPointF at);
    /// The centre of the view, the zoom and the open module.
    struct Spot {
        QPointF middle;
        double zoom = 1;
        FrameId inside = FrameId::none;
    };
    Spot spot() const { return {m_view.freeViewport().center(), m_view.zoom(), m_inside}; }
    /// If its module no longer exists, shows the whole graph.
    void show(const Spot& spot);

Q_SIGNALS:
    void entering(); ///< the scene is about to be rebuilt for another module
    void insideChanged();
    void moved(); ///< zoom or scroll

private:
    bool leavesWhatIsGone(const Delta& delta);
    void fitSize();
    void viewMoved();
    void showView();

    QWidget& m_canvas;
    Document& m_document;
    Scene& m_scene;
    CanvasView m_view;
    FrameId m_inside = FrameId::none;
    std::map<FrameId, Spot> m_spots; ///< the view around each module that was opened
    bool m_isFitted = true;          ///< fits the whole graph at any size until the user scrolls or zooms
    bool m_hasScale = false;
    mutable QRectF m_content;
    mutable std::uint64_t m_contentVersion = ~std::uint64_t{0};
};

} // namespace twb
