#include "widgets/actions/run_actions.h"

#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/run_bar.h"
#include "widgets/run_controller.h"

#include <QActionGroup>

#include <array>
#include <utility>

namespace twb {

RunActions::RunActions(Document& document, RunController& runs, RunBar& bar, GraphEditor& editor)
    : m_document(document), m_runs(runs), m_bar(bar), m_editor(editor) {
    connect(&m_bar, &RunBar::runRequested, this, &RunActions::run);
    connect(&m_bar, &RunBar::continuousRequested, &m_runs, &RunController::runContinuously);
    connect(&m_bar, &RunBar::stepRequested, &m_runs, &RunController::step);
    connect(&m_bar, &RunBar::stopRequested, &m_runs, &RunController::stop);
    connect(&m_bar, &RunBar::iterationsChosen, this, &RunActions::setIterations);
    connect(&m_bar, &RunBar::policyChosen, this, &RunActions::setPolicy);
    connect(&m_bar, &RunBar::deviceChosen, this, &RunActions::chooseDevice);
}

void RunActions::fillRuns(QMenu& menu) {
    m_run = addAction(menu, tr("&Run"), QKeySequence(QStringLiteral("F5")), [this] { run(); });
    m_continuous = addAction(menu, tr("Run &continuously"), QKeySequence(QStringLiteral("Ctrl+F5")),
                             [this] { m_runs.runContinuously(); });
    m_stop =
        addAction(menu, tr("&Stop"), QKeySequence(QStringLiteral("Shift+F5")), [this] { m_runs.stop(); });
    m_step = addAction(menu, tr("St&ep"), QKeySequence(QStringLiteral("F10")), [this] { m_runs.step(); });
    for (const auto signal : {&RunController::preparing, &RunController::finished, &RunController::stopped,
                              &RunController::resumed})
        connect(&m_runs, signal, this, &RunActions::refresh);
    refresh();
}

void RunActions::refresh() {
    const bool running = m_runs.isRunning();
    m_continuous->setEnabled(!running);
    m_stop->setEnabled(running);
    m_step->setEnabled(m_runs.isStopped());
    m_run->setEnabled(!running || m_runs.isStopped());
    m_run->setText(m_runs.isStopped() ? tr("&Continue") : tr("&Run"));
}

void RunActions::fillOptions(QMenu& menu) {
    addAction(menu, tr("&Iterations"), QKeySequence(QStringLiteral("Ctrl+I")),
              [this] { m_bar.focusIterations(); });
    QAction* tf32 =
        addAction(menu, tr("Allow &TF32 on real GPUs"), QKeySequence(QStringLiteral("Ctrl+Shift+F5")), [] {});
    tf32->setCheckable(true);
    tf32->setToolTip(tr("Allows TF32 for f32 matmul and convolution, from the next run on."));
    connect(tf32, &QAction::toggled, this, [this](bool allows) { m_runs.setAllowsTf32(allows); });
    QAction* each = addAction(menu, tr("Time each &op"), QKeySequence(QStringLiteral("Ctrl+Alt+F5")), [] {});
    each->setCheckable(true);
    each->setToolTip(tr("Runs every op as a step of its own, from the next run on. Otherwise neighbouring "
                        "ops share a step and its time."));
    connect(each, &QAction::toggled, this, [this](bool times) { m_runs.setTimesEachOp(times); });
    addAction(menu, tr("&Strict policy"), QKeySequence(QStringLiteral("Ctrl+Alt+S")),
              [this] { setPolicy(Policy::strict); });
    addAction(menu, tr("I&mplicit policy"), QKeySequence(QStringLiteral("Ctrl+Alt+I")),
              [this] { setPolicy(Policy::implicit); });
    fillGuardMenu(*menu.addMenu(tr("&Guard policy")));
}

/// Check marks show each direction's action; they are updated when the menu opens.
void RunActions::fillGuardMenu(QMenu& menu) {
    const auto setGuard = [this](Policy::Direction direction, Policy::Action action) {
        setPolicy(guardWith(m_document.graph().info().policy, direction, action));
    };
    const std::array directions{std::pair{Policy::Direction::hostToDevice, tr("&Host to device")},
                                std::pair{Policy::Direction::deviceToHost, tr("&Device to host")},
                                std::pair{Policy::Direction::deviceToDevice, tr("Device to device")}};
    const std::array actions{std::pair{Policy::Action::allow, tr("&Allow")},
                             std::pair{Policy::Action::log, tr("&Log copy")},
                             std::pair{Policy::Action::disallow, tr("D&isallow")}};
    for (const auto& [direction, title] : directions) {
        QMenu& choices = *menu.addMenu(title);
        auto* const group = new QActionGroup(&choices);
        for (const auto& [action, name] : actions) {
            QAction* const choice =
                choices.addAction(name, this, [=, this, d = direction, a = action] { setGuard(d, a); });
            choice->setCheckable(true);
            group->addAction(choice);
            connect(&choices, &QMenu::aboutToShow, choice, [=, this, d = direction, a = action] {
                const Policy policy = m_document.graph().info().policy;
                choice->setChecked(policy.actionFor(d) == a);
            });
        }
    }
}

void RunActions::run() {
    if (m_runs.isStopped())
        m_runs.proceed();
    else
        m_runs.run(m_bar.iterations());
}

void RunActions::setIterations(std::int64_t iterations) {
    GraphInfo info = m_document.graph().info();
    info.iterations = iterations;
    DeltaBuilder builder(m_document.graph(),
                         editTitle(EditTitle::tr("Set iterations to %1"), std::to_string(iterations)));
    builder.setInfo(info);
    m_editor.edit(builder.take());
}

void RunActions::setPolicy(Policy policy) {
    GraphInfo info = m_document.graph().info();
    info.policy = policy;
    DeltaBuilder builder(m_document.graph(), editTitle(EditTitle::tr("Set policy to %1"), policy.toString()));
    builder.setInfo(info);
    m_editor.edit(builder.take());
}

void RunActions::chooseDevice(const DeviceChoice& choice) {
    m_editor.attempt(tr("Device not available"), [&] {
        std::vector<DeviceChoice> choices = m_document.deviceChoices();
        std::erase_if(choices, [&](const DeviceChoice& c) { return c.device == choice.device; });
        choices.push_back(choice);
        m_document.setDeviceChoices(std::move(choices));
    });
}

} // namespace twb
