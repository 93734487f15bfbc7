#pragma once

#include "widgets/document.h"

#include <QCoreApplication>

class QAction;
class QMenu;
class QWidget;

namespace twb {

class CanvasWidget;
class GraphEditor;

/// The entries of the Graph menu that let a graph learn.
class TrainingActions {
    Q_DECLARE_TR_FUNCTIONS(TrainingActions)

public:
    /// `window` is the parent of dialogs.
    TrainingActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window);

    void fill(QMenu& menu);
    /// Asks for the loss and the optimizer, and adds the training to the graph.
    void makeItLearn();
    /// From a node of a training to the node whose gradient it computes, or back.
    void goToPartner();

private:
    void remove();

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
};

} // namespace twb
