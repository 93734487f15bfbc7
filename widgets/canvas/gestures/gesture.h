#pragma once

#include "widgets/add_op.h"
#include "widgets/canvas/paint_canvas.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"

#include <QPointF>
#include <Qt>

namespace twb {

inline constexpr double kGrid = 8; ///< grid of manual moves

/// Maximum distance between a wire and the centre of a card that is inserted into it, in canvas units.
inline constexpr double kSpliceRange = 28;

/// The interface of the canvas for gestures.
class GestureHost {
public:
    virtual ~GestureHost() = default;
    virtual Document& document() = 0;
    virtual Scene& hostScene() = 0;
    virtual double zoom() const = 0;
    /// Scrolls the view, in pixels.
    virtual void panBy(QPointF pixels) = 0;
    /// The drawing has changed.
    virtual void repaint() = 0;
    /// document().apply(); errors are shown to the user.
    virtual void apply(Delta delta) = 0;
    /// A wire was released over an empty place at `pixel`; the user should choose an op for it.
    virtual void wantOp(QPointF pixel, const LooseWire& wire, const WirePreview& shown) = 0;
};

struct Pointer {
    QPointF pixel; ///< in the widget
    QPointF at;    ///< on the canvas
    Qt::KeyboardModifiers modifiers;
};

/// One drag of the mouse, from press to release: a small state machine. It ends in at most one Delta, which
/// is one undo step; before that it only previews.
class Gesture {
public:
    explicit Gesture(GestureHost& host) : m_host(host) {}
    virtual ~Gesture() = default;
    Gesture(const Gesture&) = delete;
    Gesture& operator=(const Gesture&) = delete;

    virtual void move(const Pointer& pointer) = 0;
    /// The button was released.
    virtual void finish(const Pointer& pointer) = 0;
    /// Removes all previews. Also called when the graph changes during the gesture.
    virtual void cancel() {}
    virtual Qt::CursorShape cursor() const { return Qt::ArrowCursor; }
    /// Whether the view scrolls when the pointer is near its edge.
    virtual bool scrollsAtRim() const { return false; }

    const Preview& preview() const noexcept { return m_preview; }
    /// The selection to show instead of the document's.
    const std::optional<Selection>& selection() const noexcept { return m_selection; }

protected:
    GestureHost& m_host;
    Preview m_preview;
    std::optional<Selection> m_selection;
};

} // namespace twb
