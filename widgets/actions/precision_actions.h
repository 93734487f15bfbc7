#pragma once

#include "formats/lower_precision.h"
#include "widgets/document.h"

#include <QCoreApplication>

class QMenu;
class QWidget;

namespace twb {

class GraphEditor;
class LogPanel;

/// The entries of the Graph menu that compute a graph in a lower precision.
class PrecisionActions {
    Q_DECLARE_TR_FUNCTIONS(PrecisionActions)

public:
    /// `window` is the parent of dialogs.
    PrecisionActions(Document& document, GraphEditor& editor, LogPanel& log, QWidget& window);

    void fill(QMenu& menu);

private:
    /// Asks for a folder of inputs, shows the accuracy lost, and changes the graph if the user agrees.
    void lower(LowPrecision to);

    Document& m_document;
    GraphEditor& m_editor;
    LogPanel& m_log;
    QWidget& m_window;
};

} // namespace twb
