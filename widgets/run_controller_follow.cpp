#include "widgets/inspector/tensor_text.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QFileInfo>

#include <algorithm>
#include <limits>
#include <utility>

// Figures of another program: of its run as it goes on, here or on another machine, or of its profile.

namespace twb {
namespace {

/// Whether the steps of a trace belong to nodes of the graph. A run on several ranks adds nodes to a graph
/// with training.
bool isOfGraph(const Graph& graph, const RunTrace& trace) {
    bool hasNode = false;
    for (const Step& step : trace.plan->steps) {
        const Node* node = graph.find(step.node);
        if (!node || !step.members.empty() || step.transfer != kNone) continue;
        if (node->name != step.label) return false;
        hasNode = true;
    }
    return hasNode;
}

/// The plan of another graph, whose nodes may have the ids of other nodes here: its steps belong to no node.
std::shared_ptr<const Plan> withoutNodes(const Plan& plan) {
    auto out = std::make_shared<Plan>(plan);
    for (Step& step : out->steps) {
        step.node = NodeId::none;
        step.members.clear();
    }
    for (Transfer& transfer : out->transfers) {
        transfer.from = transfer.to = {};
        transfer.node = NodeId::none;
    }
    for (PlanValue& value : out->values) value.source = {};
    out->valuesOfNode.clear();
    return out;
}

} // namespace

void RunController::awaitRun(const QString& host, const QString& sentence, std::int64_t total) {
    if (isRunning()) return;
    m_isFollowing = m_state.running = m_continuous = true;
    m_edited = false;
    m_done = 0;
    m_total = total;
    ++m_number;
    m_sentence = sentence;
    m_awaited = AwaitedRun{host, m_document.graph(), m_document.analysis().diagnostics,
                           !host.isEmpty() && m_allowsTf32};
    log(Severity::note, sentence);
    Q_EMIT preparing();
}

void RunController::follow(std::shared_ptr<const Plan> plan, const QString& sentence, std::int64_t total,
                           std::vector<bool> isOfGraph) {
    if (!m_isFollowing) awaitRun({}, sentence, total);
    if (!m_isFollowing) return; // a run of this program is active
    if (m_awaited) {
        AwaitedRun awaited = *std::exchange(m_awaited, std::nullopt);
        forgetLastRun();
        m_state.host = std::move(awaited.host);
        m_snapshot = std::move(awaited.graph);
        m_diagnostics = std::move(awaited.diagnostics);
        m_ranWithTf32 = awaited.allowsTf32;
        noteTf32();
    } else if (m_state.host.isEmpty()) { // the document has grown with the plan
        m_snapshot = m_document.graph();
        m_diagnostics = m_document.analysis().diagnostics;
        m_edited = false;
    }
    m_total = total;
    m_figures = std::make_shared<RunFigures>(std::move(plan), std::move(isOfGraph));
    assignEdges(m_figures->plan(), m_document.analysis());
    m_state.nodes.clear();
    for (const Node& node : m_snapshot.nodes()) m_state.nodes.emplace(node.id, NodeRun{});
    m_state.edges.clear();
    for (const NodeFacts& facts : m_document.analysis().nodes) predictInto(facts);
    m_state.stale = m_edited;
    m_sentence = sentence;
    Q_EMIT started();
}

void RunController::detach() {
    if (m_isFollowing && !m_awaited && !m_state.host.isEmpty()) Q_EMIT detachRequested();
}

void RunController::addFollowed(std::span<const StepRecord> records, std::int64_t done,
                                const QString& sentence, std::vector<LiveRank> ranks) {
    if (!m_isFollowing || m_awaited) return;
    if (!ranks.empty()) m_ranks = std::move(ranks);
    m_done = done;
    m_sentence = sentence;
    m_figures->add(records);
    updateNodes(false);
    updateEdges();
    Q_EMIT frame();
}

void RunController::endFollowing(RunResult result, const QString& sentence, std::vector<ProbeValue> probes,
                                 std::vector<RankPace> ranks) {
    if (!m_isFollowing) return;
    if (m_awaited)
        return endUnstarted(result.status == RunStatus::failed ? Severity::error : Severity::note,
                            sentence.isEmpty() ? tr("Run %1 cancelled before it started").arg(m_number)
                                               : sentence);
    m_isFollowing = m_state.running = false;
    m_figures->finish();
    updateNodes(true);
    updateEdges();
    result.iterations = m_done;
    if (result.states.empty())
        for (const StepTimes::Row& row : m_figures->steps().rows())
            result.states.push_back(result.status == RunStatus::finished ? StepState::done : row.state);
    showErrors(result);
    m_result = std::move(result);
    m_probes = std::move(probes);
    if (!ranks.empty()) m_ranks = endedRanks(ranks); // a trace has set its own
    for (LiveRank& rank : m_ranks) rank.node.clear();
    for (const ProbeValue& probe : m_probes)
        if (const Node* node = m_snapshot.findByName(probe.name); node && probe.elements == 1)
            m_state.nodes[node->id].value = valueText(probe);
    m_date = dateNow();
    m_sentence = sentence.isEmpty() ? endSentence(*m_result) : sentence;
    logEnd();
    Q_EMIT frame();
    Q_EMIT finished();
}

void RunController::overlay(OverlaidProfile profile) {
    if (isRunning()) return;
    const QString sentence = profile.sentence();
    follow(profile.plan, tr("Overlay of %1").arg(QFileInfo(profile.file).fileName()));
    m_overlay = std::move(profile);
    const Overlay& overlay = m_overlay->overlay;
    assignEdges(m_figures->plan(), *m_overlay->analysis);
    addFollowed(overlay.records, std::int64_t(overlay.iterations), sentence);
    RunResult result;
    result.wallNs = result.clockNs = overlay.spanNs;
    endFollowing(std::move(result), sentence);
}

QString RunController::show(RunTrace trace, const QString& file) {
    if (isRunning()) return {};
    const QString name = QFileInfo(file).fileName();
    QString remark;
    if (!isOfGraph(m_document.graph(), trace)) {
        remark = tr("%1 was recorded from another graph. Open that project first, then the trace.").arg(name);
        trace.plan = withoutNodes(*trace.plan);
    }
    const QString iterations =
        trace.iterations == 1 ? tr("1 iteration") : tr("%1 iterations").arg(grouped(trace.iterations));
    const QString sentence =
        trace.ranks.empty()
            ? tr("Trace %1: %2").arg(name, iterations)
            : tr("Trace %1: %2 ranks, %3").arg(name, grouped(qint64(trace.ranks.size())), iterations);
    follow(trace.plan, tr("Trace %1").arg(name), 0, trace.isOfGraph);
    m_showsTrace = true;
    m_ranks = endedRanks(trace.ranks);
    if (!remark.isEmpty()) {
        m_state.stale = true;
        log(Severity::warning, remark);
    }
    RunResult result;
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    for (const StepRecord& record : trace.records) {
        start = std::min(start, record.startNs);
        result.clockNs = std::max(result.clockNs, record.endNs);
    }
    if (!trace.records.empty()) result.clockNs -= start;
    result.wallNs = result.clockNs;
    addFollowed(trace.records, trace.iterations, sentence);
    endFollowing(std::move(result), sentence);
    return remark;
}

void RunController::removeOverlay() {
    if (!m_overlay) return;
    log(Severity::note, tr("%1 removed").arg(QFileInfo(m_overlay->file).fileName()));
    forgetResults();
    predict();
    Q_EMIT frame();
    Q_EMIT finished();
}

/// A node has the sum of its steps' modelled times beside a measured one, or in its place. The steps of one
/// call count for the node that has the time of the call.
void RunController::addModelledTimes() {
    const Plan& plan = m_figures->plan();
    for (auto& [id, node] : m_state.nodes) node.modelledNs = 0;
    for (const Step& step : plan.steps) {
        const bool isStaging =
            step.transfer != kNone && plan.transfers[step.transfer].kind == TransferKind::staging;
        const auto whole = m_overlay->overlay.parts.find(step.index);
        const Step& shown = whole == m_overlay->overlay.parts.end() ? step : plan.steps[whole->second];
        const auto found = m_state.nodes.find(shown.node);
        if (!isStaging && found != m_state.nodes.end()) found->second.modelledNs += step.predictedNs;
    }
    for (auto& [id, node] : m_state.nodes) {
        if (node.ns > 0) continue;
        node.ns = std::exchange(node.modelledNs, 0);
        node.modelled = true;
    }
}

} // namespace twb
