#include "widgets/actions/menu_action.h"

#include "widgets/canvas/canvas_widget.h"
#include "widgets/settings_dialog.h"

namespace twb {

QAction* addAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                   const std::function<void()>& triggered) {
    QAction* action = menu.addAction(text);
    action->setProperty("findable", true); // the search field offers it
    makeEditable(*action, shortcut);
    QObject::connect(action, &QAction::triggered, action, triggered);
    return action;
}

void keepOnCanvas(QAction& action, CanvasWidget& canvas) {
    action.setShortcutContext(Qt::WidgetShortcut);
    canvas.addAction(&action);
}

QAction* needSelection(QAction* action, Document& document) {
    const auto refresh = [action, &document] { action->setEnabled(!document.selection().empty()); };
    QObject::connect(&document, &Document::selectionChanged, action, refresh);
    refresh();
    return action;
}

} // namespace twb
