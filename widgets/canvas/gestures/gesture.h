#pragma once

#include "widgets/add_op.h"
#include "widgets/canvas/paint_canvas.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"

#include <QPointF>
#include <Qt>

namespace twb {

inline constexpr double kGrid = 8; ///< what is moved by hand lands on multiples of this

/// How near to a wire the middle of a card must be to be put into it, in canvas units.
inline constexpr double kSpliceRange = 28;

/// What gestures work on: the canvas as they see it.
class GestureHost {
public:
    virtual ~GestureHost() = default;
    virtual Document& document() = 0;
    virtual Scene& hostScene() = 0;
    virtual double zoom() const = 0;
    /// Moves the view, in pixels.
    virtual void panBy(QPointF pixels) = 0;
    /// Something that is drawn has changed.
    virtual void repaint() = 0;
    /// document().apply(), with what goes wrong told to the user.
    virtual void apply(Delta delta) = 0;
    /// A wire was let go at `pixel`, over nothing: an op is wanted that goes on from there.
    virtual void wantOp(QPointF pixel, const LooseWire& wire, const WirePreview& shown) = 0;
};

struct Pointer {
    QPointF pixel; ///< in the widget
    QPointF at;    ///< on the canvas
    Qt::KeyboardModifiers modifiers;
};

/// One drag of the mouse, from press to release: a small state machine. Ends in at most one Delta, which is
/// one undo step; until then it only previews.
class Gesture {
public:
    explicit Gesture(GestureHost& host) : m_host(host) {}
    virtual ~Gesture() = default;
    Gesture(const Gesture&) = delete;
    Gesture& operator=(const Gesture&) = delete;

    virtual void move(const Pointer& pointer) = 0;
    /// The button was let go.
    virtual void finish(const Pointer& pointer) = 0;
    /// Takes back everything that it shows. Also called when the graph changes under it.
    virtual void cancel() {}
    virtual Qt::CursorShape cursor() const { return Qt::ArrowCursor; }
    /// Whether the view follows when the pointer comes near its rim.
    virtual bool scrollsAtRim() const { return false; }

    const Preview& preview() const noexcept { return m_preview; }
    /// What to show as selected instead of the document's selection.
    const std::optional<Selection>& selection() const noexcept { return m_selection; }

protected:
    GestureHost& m_host;
    Preview m_preview;
    std::optional<Selection> m_selection;
};

} // namespace twb
