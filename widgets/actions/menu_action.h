#pragma once

#include <QAction>
#include <QKeySequence>
#include <QMenu>
#include <QString>

#include <functional>

namespace twb {

class CanvasWidget;
class Document;

/// Adds an action that the user can find by name and give another shortcut. A crash report names it once it
/// was triggered. Text typed before into a field counts for it (finishTyping).
QAction* addAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                   const std::function<void()>& triggered);
/// The action's text after the submenus that lead to it: "Heat ▸ By time". Without the main menu's name.
QString pathOf(const QAction& action);
/// Restricts a shortcut to the canvas: a letter alone is typed elsewhere.
void keepOnCanvas(QAction& action, CanvasWidget& canvas);
/// Enables an action while something is selected. Returns it.
QAction* needSelection(QAction* action, Document& document);

} // namespace twb
