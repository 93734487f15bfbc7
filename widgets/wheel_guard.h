#pragma once

class QWidget;

namespace twb {

/// The mouse wheel changes the value of a box only while the box has the focus. Otherwise it scrolls the
/// widget around the box, and an edit by accident is impossible.
void needFocusForWheel(QWidget& box);

} // namespace twb
