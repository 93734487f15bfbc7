#pragma once

#include <QObject>
#include <QString>

class QAction;
class QMenu;
class QWidget;

namespace twb {

class BottomPanel;
class Document;
class GraphEditor;
class RunController;

/// The menu entries that open a trace of `twb run --trace`, and show the pace of ranks.
class TraceActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    TraceActions(Document& document, RunController& runs, BottomPanel& bottom, GraphEditor& editor,
                 QWidget& window);

    void fill(QMenu& menu);
    /// Shows a trace in the panels. False if the user cancelled or the trace cannot be read, which a message
    /// box reports.
    bool open(const QString& file);
    /// The same for a trace that the user chooses, to compare its ranks.
    void openForRanks();

Q_SIGNALS:
    void ranksRequested(); ///< to be shown in their panel

private:
    bool choose();

    Document& m_document;
    RunController& m_runs;
    BottomPanel& m_bottom;
    GraphEditor& m_editor;
    QWidget& m_window;
    QAction* m_open = nullptr;
};

} // namespace twb
