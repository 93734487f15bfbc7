#include "widgets/actions/run_there_actions.h"

#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/run_bar.h"
#include "widgets/run_there_dialog.h"

namespace twb {

RunThereActions::RunThereActions(Document& document, RunController& runs, RunBar& bar, GraphEditor& editor,
                                 QWidget& window)
    : m_runs(runs), m_bar(bar), m_editor(editor), m_window(window), m_there(document, runs) {
    connect(&m_there, &RunThere::failed, this, [this](const QString& title, const QString& sentence) {
        m_editor.say(QStringLiteral("%1: %2").arg(title, sentence), Severity::error);
        m_editor.showError(title, sentence);
    });
    connect(&m_bar, &RunBar::thereRequested, this, &RunThereActions::choose);
}

void RunThereActions::fill(QMenu& menu) {
    m_choose = addAction(menu, tr("Run on &another machine…"), QKeySequence(QStringLiteral("Alt+F5")),
                         [this] { choose(); });
    const auto refresh = [this] { m_choose->setEnabled(!m_runs.isRunning()); };
    for (const auto signal : {&RunController::preparing, &RunController::finished})
        connect(&m_runs, signal, this, refresh);
}

void RunThereActions::choose() {
    if (m_runs.isRunning())
        return m_editor.showError(
            tr("Run in progress"),
            tr("Stop run %1 before you run the graph on another machine.").arg(m_runs.runNumber()));
    RunThereDialog dialog(&m_window);
    if (dialog.exec() != QDialog::Accepted) return;
    m_editor.attempt(tr("Cannot run on %1").arg(dialog.machine()),
                     [&] { m_there.start(dialog.place(), dialog.program(), m_bar.iterations()); });
}

} // namespace twb
