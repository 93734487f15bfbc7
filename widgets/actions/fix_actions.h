#pragma once

#include "widgets/document.h"

#include <QCoreApplication>

#include <vector>

namespace twb {

class CanvasWidget;
class GraphEditor;

/// Applies fixes of diagnostics, wherever they are offered.
class FixActions {
    Q_DECLARE_TR_FUNCTIONS(FixActions)

public:
    FixActions(Document& document, CanvasWidget& canvas, GraphEditor& editor);

    void apply(const Fix& fix);
    /// One undo step with this title.
    void applyAll(const std::vector<Fix>& fixes, const QString& title);
    /// The first fix of the selection, else of the graph.
    void applyFirst();

private:
    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
};

} // namespace twb
