#pragma once

#include "widgets/document.h"

#include <QObject>

class QAction;
class QMenu;

namespace twb {

class GraphEditor;
class RunBar;
class RunController;

/// The Run menu and the toolbar's requests: runs, iterations, the policy, the hardware of devices.
class RunActions : public QObject {
    Q_OBJECT

public:
    RunActions(Document& document, RunController& runs, RunBar& bar, GraphEditor& editor);

    void fillRuns(QMenu& menu);
    void fillOptions(QMenu& menu);
    /// Continues a run that is stopped at a breakpoint.
    void run();
    void chooseDevice(const DeviceChoice& choice);

private:
    void fillGuardMenu(QMenu& menu);
    void setIterations(std::int64_t iterations);
    void setPolicy(Policy policy);
    void refresh();

    Document& m_document;
    RunController& m_runs;
    RunBar& m_bar;
    GraphEditor& m_editor;
    QAction* m_run = nullptr;
    QAction* m_continuous = nullptr;
    QAction* m_stop = nullptr;
    QAction* m_step = nullptr;
};

} // namespace twb
