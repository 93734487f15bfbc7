#include "widgets/actions/navigation.h"

#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/text.h"

#include <algorithm>
#include <iterator>

namespace twb {
namespace {

bool takesKeys(const QWidget& widget) {
    return widget.isVisible() && widget.isEnabled() && widget.focusPolicy() & Qt::TabFocus &&
           !widget.focusProxy();
}

/// The widget that last had the focus in a pane, else the pane's first control; null if it has none.
QWidget* whereKeysGo(QWidget& pane) {
    if (QWidget* last = pane.focusWidget(); last && last != &pane && takesKeys(*last)) return last;
    for (QWidget* next = pane.nextInFocusChain(); next != &pane; next = next->nextInFocusChain())
        if (pane.isAncestorOf(next) && takesKeys(*next)) return next;
    return takesKeys(pane) ? &pane : nullptr;
}

} // namespace

Navigation::Navigation(Document& document, CanvasWidget& canvas, QuickFind& find, GraphEditor& editor,
                       std::vector<QWidget*> panes, QWidget& window)
    : m_document(document), m_canvas(canvas), m_find(find), m_editor(editor), m_panes(std::move(panes)),
      m_window(window) {
    m_find.setSource([this](QuickFind::Scope scope) { return findable(scope); });
    connect(&m_find, &QuickFind::finished, &m_canvas, qOverload<>(&QWidget::setFocus));
}

void Navigation::goTo(NodeId id) {
    Selection selection;
    selection.nodes = {id};
    m_document.select(std::move(selection));
    m_canvas.navigator().reveal(id);
}

std::vector<QuickFind::Item> Navigation::findable(QuickFind::Scope scope) {
    std::vector<QuickFind::Item> items;
    if (scope == QuickFind::Scope::all) {
        for (QAction* action : m_window.findChildren<QAction*>()) {
            if (action->menu() || action->isSeparator() || !action->isEnabled() || action->text().isEmpty())
                continue;
            if (!action->property("findable").toBool()) continue;
            items.push_back({pathOf(*action), action->shortcut().toString(QKeySequence::NativeText),
                             [action] { action->trigger(); }});
        }
    }
    for (const Node& node : m_document.graph().nodes())
        items.push_back({toQt(node.name), toQt(node.op), [this, id = node.id] { goTo(id); }});
    return items;
}

/// Moves the focus to the next visible pane, to the widget that had the focus there before.
void Navigation::stepPane(int by) {
    std::vector<QWidget*> panes;
    std::copy_if(m_panes.begin(), m_panes.end(), std::back_inserter(panes),
                 [](const QWidget* pane) { return pane->isVisible(); });
    const QWidget* at = m_window.focusWidget();
    const auto here = std::find_if(panes.begin(), panes.end(),
                                   [at](QWidget* p) { return at && (p == at || p->isAncestorOf(at)); });
    const auto count = std::ssize(panes);
    auto next = here == panes.end() ? (by > 0 ? -1 : count) : here - panes.begin();
    for (auto tries = count; tries > 0; --tries) {
        next = (next + by + count) % count;
        if (QWidget* target = whereKeysGo(*panes[std::size_t(next)])) {
            target->setFocus(Qt::ShortcutFocusReason);
            return;
        }
    }
}

void Navigation::fill(QMenu& menu) {
    menu.setToolTipsVisible(true);
    addAction(menu, tr("To a &node by name"), QKeySequence(QStringLiteral("Ctrl+P")),
              [this] { m_find.ask(QuickFind::Scope::nodes); });
    addAction(menu, tr("To the next &pane"), QKeySequence(QStringLiteral("F6")), [this] { stepPane(1); });
    addAction(menu, tr("To the pre&vious pane"), QKeySequence(QStringLiteral("Shift+F6")),
              [this] { stepPane(-1); });
    menu.addSeparator();
    const auto addStep = [&](const QString& text, Qt::Key key, Way way) {
        QAction* action =
            addAction(menu, text, QKeySequence(key), [this, way] { m_canvas.commands().walk(way); });
        keepOnCanvas(*action, m_canvas);
        action->setToolTip(
            tr("Selects this neighbour on the canvas. With Ctrl, an arrow key moves the selected nodes."));
    };
    addStep(tr("To the &producer"), Qt::Key_Left, Way::toProducer);
    addStep(tr("To the &consumer"), Qt::Key_Right, Way::toConsumer);
    addStep(tr("To the node &above"), Qt::Key_Up, Way::up);
    addStep(tr("To the node &below"), Qt::Key_Down, Way::down);
    menu.addSeparator();
    fillBookmarks(menu);
}

void Navigation::fillBookmarks(QMenu& menu) {
    QMenu& marked = *menu.addMenu(tr("To a &bookmark"));
    QMenu& mark = *menu.addMenu(tr("Bookmark this &view"));
    for (int i = 0; i < int(m_bookmarks.size()); ++i) {
        addAction(marked, tr("To bookmark &%1").arg(i + 1),
                  QKeySequence(QStringLiteral("Ctrl+B, %1").arg(i + 1)), [this, i] {
                      if (const auto& spot = m_bookmarks[std::size_t(i)])
                          m_canvas.navigator().show(*spot);
                      else
                          m_editor.say(
                              tr("No bookmark %1 yet. Press Ctrl+Shift+B, then %1, to set it.").arg(i + 1));
                  });
        addAction(mark, tr("Set bookmark &%1").arg(i + 1),
                  QKeySequence(QStringLiteral("Ctrl+Shift+B, %1").arg(i + 1)), [this, i] {
                      m_bookmarks[std::size_t(i)] = m_canvas.navigator().spot();
                      m_editor.say(
                          tr("Bookmark %1 set. Press Ctrl+B, then %1, to return to this view.").arg(i + 1));
                  });
    }
    connect(&m_document, &Document::reset, this, [this] { m_bookmarks = {}; });
}

} // namespace twb
