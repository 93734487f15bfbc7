#pragma once

#include "widgets/canvas/canvas_widget.h"
#include "widgets/quick_find.h"

#include <QObject>

#include <array>
#include <optional>
#include <vector>

class QMenu;

namespace twb {

class GraphEditor;

/// Navigation to a node, a view or a pane: the Go menu, and the search field for actions and nodes.
class Navigation : public QObject {
    Q_OBJECT

public:
    /// F6 cycles through `panes` in this order and skips hidden ones. The search finds the actions of
    /// `window`.
    Navigation(Document& document, CanvasWidget& canvas, QuickFind& find, GraphEditor& editor,
               std::vector<QWidget*> panes, QWidget& window);

    void fill(QMenu& menu);
    void goTo(NodeId id);

private:
    std::vector<QuickFind::Item> findable(QuickFind::Scope scope);
    void stepPane(int by);
    void fillBookmarks(QMenu& menu);

    Document& m_document;
    CanvasWidget& m_canvas;
    QuickFind& m_find;
    GraphEditor& m_editor;
    std::vector<QWidget*> m_panes;
    QWidget& m_window;
    std::array<std::optional<CanvasNavigator::Spot>, 9> m_bookmarks;
};

} // namespace twb
