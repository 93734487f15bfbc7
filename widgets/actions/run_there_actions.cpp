#include "widgets/actions/run_there_actions.h"

#include "formats/own_profiles.h"
#include "formats/remote_calibration.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/run_bar.h"
#include "widgets/run_there_dialog.h"
#include "widgets/text.h"

#include <chrono>
#include <thread>

namespace twb {
namespace {

/// Ends a calibration when the user presses Cancel.
class Calibrating final : public RemoteObserver {
public:
    explicit Calibrating(const std::function<bool()>& isCancelled) : m_isCancelled(isCancelled) {}
    RemoteWish wish(int waitMs) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(waitMs));
        return m_isCancelled() ? RemoteWish::stop : RemoteWish::goOn;
    }
    void remark(const std::string&) override {}

private:
    const std::function<bool()>& m_isCancelled;
};

} // namespace

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
    const int result = dialog.exec();
    if (result == RunThereDialog::kCalibrate) return calibrate(dialog.place(), dialog.program());
    if (result != QDialog::Accepted) return;
    m_editor.attempt(tr("Cannot run on %1").arg(dialog.machine()), [&] {
        m_there.start(dialog.place(), dialog.program(), m_bar.iterations(), dialog.ranks());
    });
}

void RunThereActions::calibrate(const QString& place, const QString& program) {
    QString host;
    m_editor.attempt(tr("Cannot calibrate the machine"), [&] {
        host = toQt(remoteHost(place.toStdString()));
        RemoteCalibration measured;
        const auto measure = [&](const std::function<bool()>& isCancelled) {
            Calibrating observer(isCancelled);
            measured = calibrateRemotely(place.toStdString(), program.toStdString(), "auto", false, observer);
        };
        if (!workCancellable(tr("Measuring %1…").arg(host), &m_window, measure))
            return m_editor.say(tr("Calibration of %1 cancelled").arg(host));
        keepProfile(measured.profile);
        m_bar.refreshDevices();
        m_editor.say(
            tr("Profile kept: %1. The hardware menus of GPUs offer it.").arg(toQt(measured.profile.name)));
    });
}

} // namespace twb
