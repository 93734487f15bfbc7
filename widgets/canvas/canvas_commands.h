#pragma once

#include "widgets/canvas/scene_shapes.h"
#include "widgets/canvas/walk.h"

#include <optional>

namespace twb {

class CanvasWidget;
class GestureHost;

/// The commands about what is selected on the canvas, or under the pointer.
class CanvasCommands {
public:
    CanvasCommands(CanvasWidget& canvas, GestureHost& host) : m_canvas(canvas), m_host(host) {}

    void selectAll();
    void deleteSelection();
    /// Moves the selection by steps of the grid.
    void nudge(QPointF steps);
    /// Selects the next node in this direction; scrolls the view if nothing is selected.
    void walk(Way way);
    /// Adds a dot to the wire under the pointer, or in the middle of the longest segment of the selected
    /// wire. False if there is no wire.
    bool addDot();
    /// Adds a dot at a place of a wire, and selects it, so that keys can move it. False if it takes none.
    bool addDot(const WireShape& wire, const DotPlace& place);
    /// The dot at a point, if the wire shows it there.
    std::optional<Dot> dotAt(const WireShape& wire, QPointF at) const;
    /// Asks for an op to add: under the pointer or, if that is outside, in the middle of the view.
    void requestOp();

private:
    bool walkAlongDots(Way way);

    CanvasWidget& m_canvas;
    GestureHost& m_host;
};

} // namespace twb
