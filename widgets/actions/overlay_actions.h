#pragma once

#include <QObject>

class QAction;
class QMenu;
class QWidget;

namespace twb {

class Document;
class GraphEditor;
class NoticeBar;
class RunController;

/// The menu entries that lay the measured times of another program's profile over the graph.
class OverlayActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    OverlayActions(Document& document, RunController& runs, GraphEditor& editor, NoticeBar& notice,
                   QWidget& window);

    void fill(QMenu& menu);
    /// Reads the profile and shows it; a failure, or a profile of another model, is a message box.
    void open(const QString& file);

private:
    void choose();
    void update();
    void announce();
    void listUnmatched();

    Document& m_document;
    RunController& m_runs;
    GraphEditor& m_editor;
    NoticeBar& m_notice;
    QWidget& m_window;
    QAction* m_open = nullptr;
    QAction* m_list = nullptr;
    QAction* m_remove = nullptr;
    int m_remark = 0; ///< the remark about the overlay; 0: there is none
};

} // namespace twb
