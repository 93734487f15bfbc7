#pragma once

#include "widgets/document.h"

#include <QObject>

#include <vector>

class QAction;
class QMenu;

namespace twb {

class CanvasWidget;
class GraphEditor;

/// The actions on nodes and wires: a To on a wire, dots, folded parameters, disabled nodes.
class NodeActions : public QObject {
    Q_OBJECT

public:
    NodeActions(Document& document, CanvasWidget& canvas, GraphEditor& editor);

    void fillWireActions(QMenu& menu);
    void fillNodeActions(QMenu& menu);

    QAction* insertTo() const { return m_insertTo; }
    QAction* addDot() const { return m_addDot; }
    QAction* straightenWire() const { return m_straighten; }
    QAction* fold() const { return m_fold; }
    QAction* unfold() const { return m_unfold; }
    QAction* disable() const { return m_disable; }

private:
    std::vector<NodeId> selectedNodes() const;
    void refresh();

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QAction* m_insertTo = nullptr;
    QAction* m_addDot = nullptr;
    QAction* m_straighten = nullptr;
    QAction* m_fold = nullptr;
    QAction* m_unfold = nullptr;
    QAction* m_disable = nullptr;
};

} // namespace twb
