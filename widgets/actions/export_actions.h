#pragma once

#include "widgets/document.h"

#include <QCoreApplication>

class QMenu;
class QWidget;

namespace twb {

class CanvasWidget;
class GraphEditor;
class RunController;

/// Writes the graph in other forms: an image, a PyTorch module, an ONNX model, a report, a printed page.
class ExportActions {
    Q_DECLARE_TR_FUNCTIONS(ExportActions)

public:
    /// `window` is the parent of dialogs.
    ExportActions(Document& document, const RunController& runs, CanvasWidget& canvas, GraphEditor& editor,
                  QWidget& window);

    void fill(QMenu& menu);

private:
    QString askForPath(const QString& title, const QStringList& filters);
    void exportImage();
    void exportTorch();
    void exportModel();
    void exportReport();
    void print();

    Document& m_document;
    const RunController& m_runs;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
};

} // namespace twb
