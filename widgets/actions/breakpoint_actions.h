#pragma once

#include "graph/breakpoint.h"
#include "widgets/document.h"

#include <QObject>

#include <optional>
#include <utility>
#include <vector>

class QAction;
class QMenu;

namespace twb {

class BreakpointsPanel;
class CanvasWidget;
class GraphEditor;

/// The actions on breakpoints, in the menu and in the list of all breakpoints.
class BreakpointActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    BreakpointActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window);

    void fill(QMenu& menu);
    QMenu* menu() const { return m_menu; }
    /// Lets a list change, remove and show its breakpoints.
    void serve(BreakpointsPanel& panel);

private:
    std::vector<Breakpoint> atHand() const;
    void askForCondition(const std::vector<NodeId>& nodes);
    std::optional<Breakpoint> conditionFor(const std::vector<NodeId>& nodes, const Breakpoint& start);
    void refresh();

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
    QMenu* m_menu = nullptr;
    std::vector<std::pair<Breakpoint::Kind, QAction*>> m_kinds; ///< checked if all selected nodes have it
    QAction* m_enable = nullptr;
};

} // namespace twb
