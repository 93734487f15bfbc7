#pragma once

#include "widgets/document.h"

#include <QCoreApplication>

class QMenu;
class QWidget;

namespace twb {

class GraphEditor;

/// The Analyse menu: fixes, placement, predictions and policies, each in a dialog.
class AnalysisActions {
    Q_DECLARE_TR_FUNCTIONS(AnalysisActions)

public:
    /// `window` is the parent of dialogs.
    AnalysisActions(Document& document, GraphEditor& editor, QWidget& window);

    void fill(QMenu& menu);
    /// The time of an iteration on several simulated ranks.
    void showRanks();
    void showLinks();

private:
    void reviewFixes();
    void reviewPlacement();
    void showWhatIf();
    void showPolicyLens();
    void pinSelection();

    Document& m_document;
    GraphEditor& m_editor;
    QWidget& m_window;
};

} // namespace twb
