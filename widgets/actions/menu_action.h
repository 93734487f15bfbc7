#pragma once

#include <QAction>
#include <QFlags>
#include <QKeySequence>
#include <QMenu>
#include <QString>

#include <cstdint>
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
/// Parts of a selection.
enum class Part : std::uint8_t { oneNode = 1, nodes = 2, notes = 4, wire = 8, dots = 16 };
using Parts = QFlags<Part>;
Q_DECLARE_OPERATORS_FOR_FLAGS(Parts)

/// Enables an action while the selection has one of these parts, to which the action applies. Returns it.
QAction* needSelection(QAction* action, Document& document, Parts parts);

} // namespace twb
