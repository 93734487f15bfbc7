#include "widgets/actions/overlay_actions.h"

#include "core/format.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/notice_bar.h"
#include "widgets/review_dialog.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>

#include <algorithm>
#include <utility>

namespace twb {

OverlayActions::OverlayActions(Document& document, RunController& runs, GraphEditor& editor,
                               NoticeBar& notice, QWidget& window)
    : m_document(document), m_runs(runs), m_editor(editor), m_notice(notice), m_window(window) {
    for (const auto signal : {&RunController::preparing, &RunController::started, &RunController::finished})
        connect(&m_runs, signal, this, &OverlayActions::update);
    connect(&m_document, &Document::reset, this, &OverlayActions::update);
}

void OverlayActions::fill(QMenu& menu) {
    menu.setToolTipsVisible(true);
    m_open = addAction(menu, tr("O&verlay profile…"), QKeySequence(QStringLiteral("Ctrl+Shift+O")),
                       [this] { choose(); });
    m_open->setToolTip(tr("Shows the measured times of a PyTorch or ONNX Runtime profile on the graph."));
    m_list = addAction(menu, tr("&Unmatched in overlay…"), QKeySequence(QStringLiteral("Ctrl+Shift+J")),
                       [this] { listUnmatched(); });
    m_list->setToolTip(
        tr("Lists the steps without a measured time, and the ops of the profile that match no step."));
    m_remove = addAction(menu, tr("Re&move overlay"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+O")),
                         [this] { m_runs.removeOverlay(); });
    m_remove->setToolTip(tr("Shows modelled times again."));
    update();
}

void OverlayActions::update() {
    if (!m_open) return;
    m_open->setEnabled(!m_runs.isRunning());
    m_list->setEnabled(m_runs.overlaid() && !m_runs.overlaid()->isWhole());
    m_remove->setEnabled(m_runs.overlaid());
    if (!m_runs.overlaid()) m_notice.endRemark(std::exchange(m_remark, 0));
}

void OverlayActions::choose() {
    const QString file = QFileDialog::getOpenFileName(
        &m_window, tr("Overlay profile"), m_document.folder(),
        tr("Profiles of PyTorch and ONNX Runtime (*.json *.json.gz);;All files (*)"));
    if (!file.isEmpty()) open(file);
}

void OverlayActions::open(const QString& file) {
    if (m_runs.isRunning()) return;
    const QString title = tr("Cannot overlay the profile");
    if (m_document.graph().nodes().empty())
        return m_editor.showError(title, tr("The graph is empty. Open the graph that was profiled first."));
    m_editor.attempt(title, [&] {
        RunRequest request;
        request.graph = m_document.graph();
        request.devices = m_document.devices();
        request.files = m_document.files();
        request.revision = m_document.revision();
        OverlaidProfile profile;
        const bool isRead = workReporting(
            tr("Reading %1…").arg(QFileInfo(file).fileName()), &m_window,
            [&](const ReadProgress& progress) { profile = readOverlay(request, file, progress); });
        if (!isRead) return;
        if (profile.isOfAnotherModel())
            return m_editor.showError(
                tr("The profile belongs to another graph"),
                tr("%1. No time is shown. Open the graph that was profiled, or choose another profile.")
                    .arg(profile.sentence()));
        m_runs.overlay(std::move(profile));
        announce();
    });
}

/// Nothing to say if everything matched: the status line has the figures.
void OverlayActions::announce() {
    const OverlaidProfile* profile = m_runs.overlaid();
    if (!profile) return; // a run became active while the profile was read
    if (profile->isWhole()) return m_notice.endRemark(std::exchange(m_remark, 0));
    m_remark =
        m_notice.tell(profile->sentence(), {{tr("Unmatched…"), [this] { listUnmatched(); }, false},
                                            {tr("Remove overlay"), [this] { m_runs.removeOverlay(); }, false},
                                            {tr("Close"), [this] { m_remark = 0; }}});
}

void OverlayActions::listUnmatched() {
    const OverlaidProfile* profile = m_runs.overlaid();
    if (!profile) return;
    const Overlay& overlay = profile->overlay;
    ReviewDialog::Content content;
    content.title = tr("Unmatched in overlay");
    content.sentence = profile->sentence() + QLatin1Char('.');
    content.columns = {tr("name"), tr("source"), tr("count"), tr("measured time"), tr("modelled time")};
    const QString none = QStringLiteral("–");
    const auto addStep = [&](const Step& step) {
        content.rows.push_back(
            {toQt(step.label), tr("graph"), none, none, localized(formatMs(step.predictedNs))});
    };
    for (const std::uint32_t step : overlay.unmatched) addStep(profile->plan->steps[step]);
    for (const Step& step : profile->plan->steps)
        if (step.transfer != kNone &&
            std::none_of(overlay.records.begin(), overlay.records.end(),
                         [&](const StepRecord& record) { return record.step == step.index; }))
            addStep(step);
    std::vector<std::pair<std::string, Overlay::OtherOp>> others(overlay.otherOps.begin(),
                                                                 overlay.otherOps.end());
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    for (const auto& [name, other] : others)
        content.rows.push_back({toQt(name), tr("profile"), grouped(qint64(other.count)),
                                localized(formatMs(double(other.ns))), none});
    content.remark = tr(
        "A step matches an op of the profile by name, or by op, shape, source line and order. The number of "
        "equal ops in the profile must be the number of equal steps in the graph, or a multiple of it.");
    ReviewDialog(content, &m_window).exec();
}

} // namespace twb
