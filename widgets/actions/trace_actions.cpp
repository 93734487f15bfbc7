#include "widgets/actions/trace_actions.h"

#include "profile/run_trace.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/bottom_panel.h"
#include "widgets/busy_dialog.h"
#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QFileDialog>
#include <QFileInfo>

namespace twb {

TraceActions::TraceActions(Document& document, RunController& runs, BottomPanel& bottom, GraphEditor& editor,
                           QWidget& window)
    : m_document(document), m_runs(runs), m_bottom(bottom), m_editor(editor), m_window(window) {}

void TraceActions::fill(QMenu& menu) {
    menu.setToolTipsVisible(true);
    m_open = addAction(menu, tr("Ope&n trace…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+T")),
                       [this] { choose(); });
    m_open->setToolTip(
        tr("Shows a trace written by “twb run --trace” in the timeline, one track per rank and stream."));
    addAction(menu, tr("Ran&ks"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+R")),
              [this] { Q_EMIT ranksRequested(); })
        ->setToolTip(
            tr("Lists the time per iteration of each rank in a run on another machine, also while it "
               "goes on, or in a trace, and marks the slowest rank."));
    const auto refresh = [this] { m_open->setEnabled(!m_runs.isRunning()); };
    for (const auto signal : {&RunController::preparing, &RunController::finished})
        connect(&m_runs, signal, this, refresh);
}

bool TraceActions::choose() {
    const QString file = QFileDialog::getOpenFileName(&m_window, tr("Open trace"), m_document.folder(),
                                                      tr("Traces of twb run (*.json);;All files (*)"));
    return !file.isEmpty() && open(file);
}

bool TraceActions::open(const QString& file) {
    if (m_runs.isRunning()) return false;
    RunTrace trace;
    const bool isRead = m_editor.attempt(tr("Cannot open the trace"), [&] {
        if (!workReporting(
                tr("Reading %1…").arg(QFileInfo(file).fileName()), &m_window,
                [&](const ReadProgress& progress) { trace = readRunTrace(file.toStdString(), progress); }))
            trace.plan.reset();
    });
    if (!isRead || !trace.plan) return false;
    const QString remark = m_runs.show(std::move(trace), file);
    if (!remark.isEmpty()) m_editor.say(remark, Severity::warning);
    m_bottom.show();
    m_bottom.showPage(QStringLiteral("timeline"));
    return true;
}

void TraceActions::openForRanks() {
    if (!choose()) return;
    if (m_runs.ranks().empty())
        return m_editor.say(tr("This trace has only one rank, so there is nothing to compare."));
    Q_EMIT ranksRequested();
}

} // namespace twb
