#pragma once

class QWidget;

namespace twb {

/// Takes over the text typed into a line of text or a number box, as Enter does. `focused`: the widget that
/// takes the keys; another widget, or null, has no such text. Call it before an action uses or replaces the
/// document: a shortcut, a menu and a closed window leave the focus where it is.
void finishTyping(QWidget* focused);

} // namespace twb
