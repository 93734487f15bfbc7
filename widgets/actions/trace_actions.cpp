#include "widgets/actions/trace_actions.h"

#include "core/format.h"
#include "profile/run_trace.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/bottom_panel.h"
#include "widgets/busy_dialog.h"
#include "widgets/document.h"
#include "widgets/review_dialog.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QFileDialog>
#include <QFileInfo>

#include <cmath>

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
    m_ranks = addAction(menu, tr("Compare ran&ks…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+R")),
                        [this] { showRanks(); });
    m_ranks->setToolTip(tr(
        "Lists the time per iteration of each rank in the trace, or in a run on another machine, and marks "
        "the slowest rank."));
    const auto refresh = [this] {
        for (QAction* action : {m_open, m_ranks}) action->setEnabled(!m_runs.isRunning());
    };
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

void TraceActions::showRanks() {
    if (m_runs.isRunning() || (m_runs.ranks().empty() && !choose())) return;
    const std::vector<RankPace>& ranks = m_runs.ranks();
    if (ranks.empty())
        return m_editor.say(tr("This trace has only one rank, so there is nothing to compare."));
    const auto ms = [](double ns) { return localized(formatMs(ns)); };
    const int slowest = RankReport::slowestOf(ranks);
    ReviewDialog::Content content;
    content.title = tr("Compare ranks");
    content.sentence = m_runs.sentence() + QLatin1Char('.');
    content.columns = {
        tr("rank"), tr("time per iteration"), tr("own time"), tr("waiting for others"), tr("samples/s"), {}};
    content.alarm = tr("slowest");
    // Waits are measured, so they do not belong beside times on a virtual clock.
    const bool isModelled = RankReport::isModelled(ranks);
    const QString none = QStringLiteral("–");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const RankPace& rank = ranks[i];
        QString mark = int(i) == slowest ? content.alarm : QString();
        if (isModelled) mark = rank.isModelled ? tr("modelled") : tr("measured");
        content.rows.push_back(
            {tr("rank %1").arg(i), ms(rank.iterationNs), isModelled ? none : ms(rank.ownNs()),
             isModelled ? none : ms(rank.waitNs),
             rank.samplesPerSecond > 0 ? grouped(std::llround(rank.samplesPerSecond)) : none, mark});
    }
    content.remark =
        isModelled
            ? tr("Ranks with a simulated device have modelled times, which cannot be compared with measured "
                 "ones. Samples/s counts only rows that this rank computes.")
            : tr("Waiting: time per iteration that the rank waits in collective calls for the last rank to "
                 "arrive. The slowest rank has the longest own time. Samples/s counts only rows that this "
                 "rank computes.");
    ReviewDialog(content, &m_window).exec();
}

} // namespace twb
