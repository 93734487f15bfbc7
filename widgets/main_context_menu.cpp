#include "widgets/canvas/scene.h"
#include "widgets/main_window.h"

#include <QMenu>

namespace twb {

void MainWindow::showContextMenu(const Hit& what, QPoint at) {
    QMenu menu(this);
    fillContextMenu(menu, what);
    menu.exec(at);
}

/// The most useful actions for the clicked item; the menu bar has all actions.
void MainWindow::fillContextMenu(QMenu& menu, const Hit& what) {
    menu.setObjectName(QStringLiteral("contextMenu"));
    const auto& c = m_common;
    const auto addGroup = [&](std::initializer_list<QAction*> actions) {
        if (!menu.isEmpty()) menu.addSeparator();
        for (QAction* action : actions)
            if (action->isEnabled()) menu.addAction(action);
    };
    const Selection& selection = m_document.selection();
    if (what.kind == Hit::Kind::frame) {
        addGroup({c.openModule, m_collapseAction, c.renameModule, c.moduleColors->menuAction()});
        addGroup({m_laneMenu->menuAction(), c.duplicate, c.dissolveModule, c.remove});
    } else if (selection.edge) {
        addGroup({c.insertTo, m_addDotAction, m_straightenAction});
        addGroup({c.remove});
    } else if (!selection.nodes.empty()) {
        const bool isOne = selection.nodes.size() == 1;
        if (isOne)
            addGroup({c.rename, m_laneMenu->menuAction(), m_disableAction, m_foldAction, m_unfoldAction});
        else
            addGroup({m_laneMenu->menuAction(), c.align->menuAction(), m_disableAction, m_foldAction,
                      m_unfoldAction});
        addGroup({m_moduleMenu->menuAction(), m_breakpointMenu->menuAction()});
        addGroup({c.cut, c.copy, c.duplicate, c.remove, c.removeThrough});
    } else if (!selection.dots.empty()) {
        addGroup({m_straightenAction, c.remove});
    } else if (!selection.notes.empty()) {
        if (selection.notes.size() == 1)
            menu.addAction(tr("&Edit note…"), this, [this, id = *selection.notes.begin()] { editNote(id); });
        addGroup({c.cut, c.copy, c.duplicate, c.remove});
    } else {
        addGroup({c.addOp, c.paste, c.addNote, c.addLane->menuAction()});
        addGroup({c.selectAll, c.fit, m_leaveAction});
    }
}

} // namespace twb
