#include "widgets/run_controller.h"
#include "widgets/text.h"

// The run of another program, whose figures come from outside.

namespace twb {

void RunController::follow(std::shared_ptr<const Plan> plan, const QString& sentence) {
    if (!m_isFollowing) {
        if (isRunning()) return;
        m_isFollowing = m_state.running = m_continuous = true;
        m_done = m_total = 0;
        ++m_number;
        m_tensors.clear();
        m_lastCopy.reset();
        m_probes.clear();
        m_inputs.clear();
        m_result.reset();
        m_measured.reset();
        log(Severity::note, sentence);
        Q_EMIT preparing();
    }
    m_figures = std::make_shared<RunFigures>(std::move(plan));
    m_snapshot = m_document.graph();
    m_diagnostics = m_document.analysis().diagnostics;
    assignEdges(m_figures->plan(), m_document.analysis());
    m_state.nodes.clear();
    for (const Node& node : m_snapshot.nodes()) m_state.nodes.emplace(node.id, NodeRun{});
    m_state.edges.clear();
    for (const NodeFacts& facts : m_document.analysis().nodes) predictInto(facts);
    m_state.stale = m_edited = false;
    m_sentence = sentence;
    Q_EMIT started();
}

void RunController::addFollowed(std::span<const StepRecord> records, std::int64_t done,
                                const QString& sentence) {
    if (!m_isFollowing) return;
    m_done = done;
    m_sentence = sentence;
    m_figures->add(records);
    updateNodes(false);
    updateEdges();
    Q_EMIT frame();
}

void RunController::endFollowing(std::int64_t clockNs, const QString& sentence) {
    if (!m_isFollowing) return;
    m_isFollowing = m_state.running = false;
    m_figures->finish();
    updateNodes(true);
    updateEdges();
    RunResult result;
    result.iterations = m_done;
    result.states.assign(m_figures->plan().steps.size(), StepState::done);
    result.wallNs = result.clockNs = clockNs;
    m_result = std::move(result);
    m_date = dateNow();
    m_sentence = sentence;
    log(Severity::note, m_sentence);
    Q_EMIT frame();
    Q_EMIT finished();
}

} // namespace twb
