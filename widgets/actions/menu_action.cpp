#include "widgets/actions/menu_action.h"

#include "widgets/canvas/canvas_widget.h"
#include "widgets/crash_report.h"
#include "widgets/finish_typing.h"
#include "widgets/settings_dialog.h"

#include <QApplication>

namespace twb {

QAction* addAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                   const std::function<void()>& triggered) {
    QAction* action = menu.addAction(text);
    action->setProperty("findable", true); // the search field offers it
    makeEditable(*action, shortcut);
    QObject::connect(action, &QAction::triggered, action, [action, triggered] {
        rememberAction(pathOf(*action)); // before the action, which may crash
        finishTyping(QApplication::focusWidget());
        triggered();
    });
    return action;
}

QString pathOf(const QAction& action) {
    QString path = action.text();
    for (QObject* at : action.associatedObjects())
        if (const auto* menu = qobject_cast<const QMenu*>(at)) {
            for (; const auto* outer = qobject_cast<const QMenu*>(menu->parent()); menu = outer)
                path = menu->title() + QStringLiteral(" ▸ ") + path;
            break; // a context menu may show the action, too
        }
    return path.remove(QLatin1Char('&'));
}

void keepOnCanvas(QAction& action, CanvasWidget& canvas) {
    action.setShortcutContext(Qt::WidgetShortcut);
    canvas.addAction(&action);
}

QAction* needSelection(QAction* action, Document& document, Parts parts) {
    const auto refresh = [action, &document, parts] {
        const Selection& selection = document.selection();
        action->setEnabled((parts & Part::oneNode && selection.nodes.size() == 1) ||
                           (parts & Part::nodes && !selection.nodes.empty()) ||
                           (parts & Part::notes && !selection.notes.empty()) ||
                           (parts & Part::wire && selection.edge) ||
                           (parts & Part::dots && !selection.dots.empty()));
    };
    QObject::connect(&document, &Document::selectionChanged, action, refresh);
    refresh();
    return action;
}

} // namespace twb
