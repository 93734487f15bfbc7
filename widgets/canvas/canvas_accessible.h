#pragma once

namespace twb {

class CanvasWidget;

/// From now on assistive technology finds the cards, wires and modules of each canvas as its children, with
/// names, states and places, and can select them. Call it before the first canvas is made. Repeated calls
/// have no effect.
void makeCanvasAccessible();
/// Tells assistive technology that the selected item has the focus.
void announceSelection(CanvasWidget& canvas);

} // namespace twb
