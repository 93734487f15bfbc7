#include "core/error.h"
#include "training/training.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

// A run stopped at a breakpoint: its position, its tensors so far, and how to continue.

namespace twb {

void RunController::proceed() {
    if (!m_stop) return;
    leaveStop();
    m_executor.proceed();
}

void RunController::step() {
    if (!m_stop) return;
    leaveStop();
    m_executor.step();
}

void RunController::leaveStop() {
    m_stop.reset();
    m_state.stop.reset();
    m_lastCopy.reset();
    Q_EMIT resumed();
    Q_EMIT frame();
}

QString RunController::stopSentence() const {
    if (!m_stop) return {};
    const Step& step = m_figures->plan().steps[m_stop->step];
    const Node* node = m_snapshot.find(step.node);
    QString name = toQt(node && step.members.empty() ? node->name : step.label);
    const Node* forward = node ? m_snapshot.find(node->forward) : nullptr;
    if (const auto training = forward ? trainingOf(m_snapshot) : std::nullopt)
        name += (node->frame == training->backward ? tr(" (gradient of %1)") : tr(" (update of %1)"))
                    .arg(toQt(forward->name));
    const QString where = (m_stop->after ? tr("after %1") : tr("before %1")).arg(name);
    const QString when =
        step.setup ? tr("before the iterations") : tr("iteration %1").arg(grouped(m_stop->iteration + 1));
    return m_stop->found.empty() ? QStringLiteral("%1, %2").arg(where, when)
                                 : QStringLiteral("%1, %2: %3").arg(where, when, toQt(m_stop->found));
}

std::optional<Edge> RunController::stoppedEdge() const {
    if (!m_stop) return std::nullopt;
    const Step& step = m_figures->plan().steps[m_stop->step];
    if (step.node != NodeId::none || step.transfer == kNone) return std::nullopt;
    return m_edges[step.transfer].front();
}

/// Only the steps of this iteration count, not those of earlier iterations.
void RunController::standStill(RunStop stop) {
    const Plan& plan = m_figures->plan();
    for (auto& [id, node] : m_state.nodes) node.state = StepState::pending;
    const auto show = [&](NodeId id, StepState state) {
        if (const auto node = m_state.nodes.find(id); node != m_state.nodes.end()) node->second.state = state;
    };
    for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
        show(plan.steps[i].node, stop.states[i]);
        for (const NodeId member : plan.steps[i].members) show(member, stop.states[i]);
    }
    m_state.stop = RunState::Stop{plan.steps[stop.step].node, stop.after};
    m_stop = std::move(stop);
    m_lastCopy.reset();
    readProbes([this](PortRef output) { return tensor(output); });
    log(Severity::note, tr("Run %1 paused %2").arg(m_number).arg(stopSentence()));
}

std::optional<Tensor> RunController::tensorAtStop(PortRef output) const {
    const Plan& plan = m_figures->plan();
    const std::uint32_t value = plan.valueOf(output);
    if (value == kNone) return std::nullopt;
    const TensorType& type = plan.values[value].type;
    if (type.isKnown() && std::uint64_t(type.byteCount()) > kKeptBytes) return std::nullopt;
    try {
        std::optional<Tensor> there = m_executor.tensorAtStop(output);
        if (there) m_lastCopy = {output, *there};
        return there;
    } catch (const Error&) {
        return std::nullopt; // the device was lost
    }
}

} // namespace twb
