#pragma once

#include "widgets/run_there.h"

#include <QObject>

class QAction;
class QMenu;

namespace twb {

class GraphEditor;
class RunBar;

/// The menu entry that runs the graph on another machine, or measures that machine.
class RunThereActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    RunThereActions(Document& document, RunController& runs, RunBar& bar, GraphEditor& editor,
                    QWidget& window);

    void fill(QMenu& menu);

private:
    void choose();
    void calibrate(const QString& place, const QString& program);

    RunController& m_runs;
    RunBar& m_bar;
    GraphEditor& m_editor;
    QWidget& m_window;
    RunThere m_there;
    QAction* m_choose = nullptr;
};

} // namespace twb
