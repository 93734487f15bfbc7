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
    void addTraining();
    /// Selects and shows the node whose gradient this one computes, or the other way round. False if it has
    /// no gradient.
    bool goToPartner(NodeId node);

private:
    void goToPartners();
    bool show(Selection partners);
    void mix(DType low);
    void remove();

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
};

} // namespace twb
