#include "widgets/run_controller.h"

#include "backends/world.h"
#include "core/error.h"
#include "ops/op_table.h"
#include "widgets/breakpoint_edits.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace twb {
namespace {

constexpr int kFrameMs = 16;
/// Until the user stops the run: StepRecord counts iterations in 32 bits.
constexpr std::int64_t kForever = std::numeric_limits<std::uint32_t>::max();

QString iterationsText(std::int64_t count) {
    return count == 1 ? RunController::tr("1 iteration")
                      : RunController::tr("%1 iterations").arg(grouped(count));
}

} // namespace

bool affectsRun(const Delta& delta) {
    if (!delta.edgesAdded.empty() || !delta.edgesRemoved.empty()) return true;
    for (const Change<Node>& change : delta.nodes) {
        if (!change.before || !change.after) return true;
        const Node& a = *change.before;
        const Node& b = *change.after;
        if (a.op != b.op || a.lane != b.lane || a.disabled != b.disabled) return true;
        if (!(a.attributes == b.attributes)) return true;
    }
    for (const Change<Lane>& change : delta.lanes)
        if (change.before && change.after && change.before->device != change.after->device) return true;
    if (delta.info && delta.info->before && delta.info->after)
        return delta.info->before->policy != delta.info->after->policy;
    return false;
}

RunController::RunController(Document& document, QObject* parent) : QObject(parent), m_document(document) {
    m_timer.setInterval(kFrameMs);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &RunController::tick);
    connect(&m_document, &Document::changed, this, &RunController::documentChanged);
    connect(&m_document, &Document::reset, this, &RunController::forget);
    connect(&m_document, &Document::devicesChanged, this, [this] {
        m_edited = true;
        if (m_figures) m_state.stale = true;
        predict();
    });
    predict();
}

RunController::~RunController() {
    if (m_batch) m_batch->close();
    m_executor.cancel();
}

void RunController::run(std::int64_t iterations) { start(iterations, false); }

void RunController::runContinuously() { start(kForever, true); }

void RunController::stop() {
    if (!isRunning()) return;
    if (m_isFollowing) return leaveRequested();
    if (!m_isPreparing) return m_executor.cancel();
    m_preparer.drop();
    endUnstarted(Severity::note, tr("Run %1 cancelled before it started").arg(m_number));
}

/// The results of the last run stay.
void RunController::endUnstarted(Severity severity, const QString& sentence) {
    m_isPreparing = m_isFollowing = m_state.running = false;
    m_awaited.reset();
    m_sentence = sentence;
    log(severity, m_sentence);
    Q_EMIT frame();
    Q_EMIT finished();
}

bool RunController::mayStart() {
    if (!m_document.analysis().mayRun()) {
        const std::size_t errors = m_document.causeCount(Severity::error);
        const QString sentence =
            errors == 1
                ? tr("The graph has 1 problem. Fix it to run the graph.")
                : tr("The graph has %1 problems. Fix them to run the graph.").arg(grouped(qint64(errors)));
        log(Severity::error, sentence);
        Q_EMIT refused(sentence);
        return false;
    }
    if (m_document.graph().nodes().empty()) {
        Q_EMIT refused(tr("The graph is empty. Drag an op from the palette to a lane."));
        return false;
    }
    return true;
}

void RunController::start(std::int64_t iterations, bool continuous) {
    if (isRunning() || !mayStart()) return;
    // With breakpoints, users inspect tensors, so memory is not shared and most tensors are kept.
    RunOptions options;
    options.iterations = iterations;
    options.cache = iterations == 1;
    options.allowTf32 = m_allowsTf32;
    options.breakpoints = breakpointsOf(m_document.graph());
    const bool stops =
        std::any_of(options.breakpoints.begin(), options.breakpoints.end(), [](const auto& of) {
            return std::any_of(of.second.begin(), of.second.end(),
                               [](const Breakpoint& b) { return b.enabled; });
        });
    RunRequest request;
    request.graph = m_document.graph();
    request.devices = m_document.devices();
    request.files = m_document.files();
    request.revision = m_document.revision();
    request.keepsTensors = options.cache || stops;
    request.timesEachOp = m_timesEachOp;
    m_isPreparing = m_state.running = true;
    m_edited = false;
    m_continuous = continuous;
    m_done = 0;
    m_total = continuous ? 0 : iterations;
    ++m_number;
    m_sentence = tr("Run %1 is being prepared").arg(m_number);
    m_preparer.start([request] { return prepareRun(request); },
                     [this, graph = request.graph, options](PreparedRun prepared) {
                         launch(graph, std::move(prepared), options);
                     });
    Q_EMIT preparing();
}

/// Calls `go` on this thread once the executor is idle, unless another run was prepared or the document was
/// replaced.
void RunController::afterExecutor(std::function<void()> go) {
    m_preparer.start(
        [this] {
            m_executor.wait();
            return true;
        },
        [go = std::move(go)](bool) { go(); });
}

/// Starts the prepared run once the executor has left a cancelled one.
void RunController::launch(Graph graph, PreparedRun prepared, RunOptions options) {
    if (!prepared.plan) return giveUp(toQt(prepared.error));
    if (m_executor.isRunning()) {
        afterExecutor([this, graph = std::move(graph), prepared = std::move(prepared), options] {
            launch(graph, prepared, options);
        });
        return;
    }
    if (prepared.analysis.hasErrors())
        log(Severity::warning, tr("Nodes with unknown ops (placeholders) and their consumers do not run."));
    options.breakpoints = breakpointsOf(m_document.graph()); // some may have changed since the preparation
    m_isPreparing = false;
    forgetLastRun();
    m_figures = std::make_shared<RunFigures>(prepared.plan);
    m_snapshot = std::move(graph);
    m_diagnostics = prepared.analysis.diagnostics;
    m_inputs = std::move(prepared.inputs);
    m_leanPlan = std::move(prepared.lean);
    m_againPlan = std::move(prepared.again);
    m_updated = std::move(prepared.updated);
    if (prepared.copiesUpdated) options.lastStateOf = m_updated;
    for (const auto& [probe, output] : probedOutputs()) options.watched.push_back(output);
    assignEdges(*prepared.plan, prepared.analysis);
    m_state.nodes.clear();
    for (const Node& node : m_snapshot.nodes()) m_state.nodes.emplace(node.id, NodeRun{});
    m_state.stale = m_edited;
    m_ranWithTf32 = options.allowTf32;
    m_sentence = m_continuous ? tr("Run %1: running until you stop it").arg(m_number)
                              : tr("Run %1: running").arg(m_number);
    const auto count = qint64(prepared.plan->steps.size());
    const QString steps = count == 1 ? tr("1 step") : tr("%1 steps").arg(grouped(count));
    log(Severity::note,
        m_continuous
            ? tr("Run %1 started: %2, until you stop it").arg(m_number).arg(steps)
            : tr("Run %1 started: %2, %3").arg(m_number).arg(steps, iterationsText(options.iterations)));
    noteTf32();
    Q_EMIT started();
    if (!launchOn(prepared.plan, options)) return;
    m_timer.start();
}

/// False if the executor cannot start the run, for example because a device is lost; the run is then dropped.
bool RunController::launchOn(const std::shared_ptr<const Plan>& plan, const RunOptions& options) {
    m_executor.wait(); // the last run has reported its end, but its threads may still be running
    m_batch = std::make_unique<RunBatch>();
    try {
        m_executor.start(plan, options, *m_batch);
        return true;
    } catch (const std::exception& error) {
        giveUp(toQt(error.what()));
        return false;
    }
}

void RunController::giveUp(const QString& sentence) {
    endUnstarted(Severity::error, tr("Run %1 could not start: %2").arg(m_number).arg(sentence));
    Q_EMIT refused(m_sentence);
}

void RunController::assignEdges(const Plan& plan, const Analysis& analysis) {
    m_edges.clear();
    m_firstOfEdge.clear();
    std::map<Edge, std::size_t> first;
    for (const Transfer& transfer : plan.transfers) {
        std::vector<Edge> edges{transfer.edge()};
        if (transfer.kind == TransferKind::implicitTo)
            for (const ImplicitCopy& copy : analysis.implicitCopies)
                if (copy.from == transfer.from && copy.target == transfer.target) edges = copy.edges;
        const std::size_t index = m_edges.size();
        m_firstOfEdge.push_back(m_figures->isTransferOfGraph(index)
                                    ? first.try_emplace(transfer.edge(), index).first->second
                                    : index);
        m_edges.push_back(std::move(edges));
    }
}

void RunController::tick() {
    RunEvents events = m_batch->take();
    if (m_stop && !events.end) return; // a stopped run produces no events
    if (m_isAgain) {
        if (!events.end) return;
        takeTensors(*events.end, true);
        for (const StepError& error : events.end->errors)
            log(Severity::warning,
                tr("After run %1, a tensor that the run did not keep could not be computed: %2")
                    .arg(m_number)
                    .arg(toQt(error.message)));
    } else {
        m_done = events.done;
        m_figures->add(events.records);
        if (events.end) {
            m_figures->finish();
            m_stop.reset();
            m_state.stop.reset();
        }
        updateNodes(events.end.has_value());
        if (!events.values.empty())
            readProbes([&](PortRef output) -> std::optional<Tensor> {
                for (const auto& [from, value] : events.values)
                    if (from == output) return value;
                return std::nullopt;
            });
        updateEdges();
        if (events.end) {
            takeTensors(*events.end, false);
            m_measured = std::move(events.end);
            if (startAgain()) return;
        }
    }
    if (m_measured) {
        m_timer.stop();
        finish(std::move(*m_measured));
        m_measured.reset();
    }
    if (events.stop && !events.end) standStill(std::move(*events.stop));
    Q_EMIT frame();
    if (m_stop) Q_EMIT stopped();
    if (m_result) Q_EMIT finished();
}

/// A node's time is the sum over its steps: of their means while it runs, which are cheap, and of their
/// medians at the end.
void RunController::updateNodes(bool final) {
    const Plan& plan = m_figures->plan();
    const std::vector<StepTimes::Row>& rows = m_figures->steps().rows();
    std::vector<std::uint32_t> steps = m_figures->takeTouched();
    if (final) {
        steps.resize(plan.steps.size());
        for (std::uint32_t i = 0; i < steps.size(); ++i) steps[i] = i;
        for (auto& [id, node] : m_state.nodes) node.ns = 0;
    }
    const auto timeOf = [&](std::uint32_t index) {
        const StepTimes::Row& row = rows[index];
        if (row.count == 0) return 0.0;
        return final ? row.times.quantile(0.5) : double(row.totalNs) / double(row.count);
    };
    for (const std::uint32_t index : steps) {
        if (!m_figures->isOfGraph(index)) continue;
        const Step& step = plan.steps[index];
        // The last op of a fused step has the time of the step.
        for (const NodeId member : step.members)
            if (const auto one = m_state.nodes.find(member); one != m_state.nodes.end()) {
                one->second.state = rows[index].state;
                one->second.timedAt = step.node;
                one->second.fused = step.members.size();
            }
        const auto found = m_state.nodes.find(step.node);
        if (found == m_state.nodes.end()) continue; // an implicit copy has no node
        NodeRun& node = found->second;
        node.state = rows[index].state;
        // A staging copy has its own price; adding it would mix modelled time with the measured time of
        // reading.
        if (step.transfer != kNone && plan.transfers[step.transfer].kind == TransferKind::staging) continue;
        node.modelled = isModelled(plan, step);
        node.once = step.setup;
        node.ns = final ? node.ns + timeOf(index) : timeOf(index);
    }
    if (m_overlay) addModelledTimes();
}

void RunController::updateEdges() {
    const std::vector<LedgerRow>& rows = m_figures->ledger().rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const LedgerRow& row = rows[i];
        if (row.count == 0 || !m_figures->isTransferOfGraph(i)) continue;
        EdgeRun run;
        run.bytes = double(row.bytes) / double(row.count);
        run.ns = double(row.totalNs) / double(row.count);
        if (!m_state.running) run.ns = row.medianNs();
        const Transfer& transfer = m_figures->plan().transfers[i];
        run.modelled = transfer.modelled;
        run.link = transfer.link;
        if (const std::size_t first = m_firstOfEdge[i]; first != i && rows[first].count > 0) {
            const EdgeRun& before = m_state.edges[m_edges[i].front()]; // the sum of those before
            run.ns += before.ns;
            run.modelled = run.modelled || before.modelled;
            if (run.link.empty()) run.link = before.link;
        }
        run.gbPerSecond = run.ns > 0 ? run.bytes / run.ns : 0;
        run.predicted = false;
        if (m_overlay) run.modelledNs = transfer.predictedNs;
        for (const Edge& edge : m_edges[i]) m_state.edges[edge] = run;
    }
}

/// The errors of nodes, and the nodes that did not run.
void RunController::showErrors(const RunResult& result) {
    const Plan& plan = m_figures->plan();
    for (const StepError& error : result.errors) {
        m_state.nodes[error.node].error = toQt(error.message);
        log(Severity::error, toQt(error.message));
    }
    for (std::size_t i = 0; i < result.states.size() && i < plan.steps.size(); ++i) {
        const StepState state = result.states[i];
        if (state == StepState::done) continue;
        const auto node = m_state.nodes.find(plan.steps[i].node);
        if (node != m_state.nodes.end()) node->second.state = state;
    }
}

QString RunController::endSentence(const RunResult& result) const {
    const QString run = m_state.host.isEmpty()
                            ? tr("Run %1").arg(m_number)
                            : tr("Run %1 on %2").arg(QString::number(m_number), m_state.host);
    const QString time = m_figures->plan().virtualClock
                             ? tr("%1 modelled, %2 wall time")
                                   .arg(duration(double(result.clockNs)), duration(double(result.wallNs)))
                             : duration(double(result.wallNs));
    const QString iterations = iterationsText(result.iterations);
    switch (result.status) {
    case RunStatus::finished:
        return tr("%1 finished: %2 in %3").arg(run, iterations, time);
    case RunStatus::cancelled:
        return tr("%1 cancelled after %2, %3").arg(run, iterations, time);
    case RunStatus::failed:
        break;
    }
    return tr("%1 failed: %2")
        .arg(run, result.errors.empty() ? tr("unknown reason") : toQt(result.errors.front().message));
}

void RunController::finish(RunResult result) {
    m_state.running = false;
    showErrors(result);
    m_done = result.iterations;
    m_sentence = endSentence(result);
    m_result = std::move(result);
    m_date = dateNow();
    updateEdges();
    readProbes([this](PortRef output) { return tensor(output); });
    logEnd();
}

void RunController::noteTf32() {
    if (m_ranWithTf32)
        log(Severity::note,
            tr("TF32 allowed: real GPUs may round the inputs of f32 matmul and convolution."));
}

/// How the run ended, and the scalars at Probes.
void RunController::logEnd() {
    log(m_result->status == RunStatus::failed ? Severity::error : Severity::note, m_sentence);
    for (const ProbeValue& probe : m_probes)
        if (probe.elements == 1)
            log(Severity::note, QStringLiteral("%1 = %2").arg(toQt(probe.name), valueText(probe)));
}

void RunController::forget() {
    // Cancels the run of the old document, which ends by itself within one kernel, without waiting for it.
    m_preparer.drop();
    m_timer.stop();
    if (m_batch) m_batch->close();
    m_executor.cancel();
    const bool wasRunning = std::exchange(m_state.running, false);
    forgetResults();
    if (m_executor.isRunning())
        afterExecutor([this] {
            m_executor.clearCache();
            Q_EMIT stateChanged();
        });
    else
        m_executor.clearCache();
    predict();
    if (wasRunning) Q_EMIT finished();
}

void RunController::forgetResults() {
    forgetLastRun();
    m_state = {};
    m_figures.reset();
    m_edges.clear();
    m_awaited.reset();
    m_isPreparing = m_isFollowing = false;
    m_sentence.clear();
    m_done = m_total = 0;
}

/// What a new run replaces, except its figures. Frees the memory of its tensors for the new run.
void RunController::forgetLastRun() {
    m_result.reset();
    m_measured.reset();
    m_overlay.reset();
    m_stop.reset();
    m_state.stop.reset();
    m_leanPlan.reset();
    m_againPlan.reset();
    m_isAgain = false;
    m_inputs.clear();
    m_tensors.clear();
    m_probes.clear();
    m_lastCopy.reset();
    m_state.host.clear();
    m_ranks.clear();
    m_showsTrace = false;
}

/// Before a run, every edge that crosses lanes has a price from the profiles of its devices. A run's figures
/// replace it until the next run or an edit of the graph.
void RunController::predict() {
    const std::map<Edge, EdgeRun> before = std::exchange(m_state.edges, {});
    for (const NodeFacts& facts : m_document.analysis().nodes) predictInto(facts);
    if (!m_state.stale)
        for (auto& [edge, run] : m_state.edges)
            if (const auto known = before.find(edge); known != before.end() && !known->second.predicted)
                run = known->second;
    Q_EMIT stateChanged();
}

/// The same for the edges affected by a change.
void RunController::predict(const Delta& delta, const Revised& revised) {
    for (const Edge& edge : delta.edgesRemoved) m_state.edges.erase(edge);
    for (const Change<Node>& change : delta.nodes)
        if (change.before) m_state.edges.erase(stagingOf(change.before->id));
    for (const NodeId id : revised.nodes) {
        m_state.edges.erase(stagingOf(id));
        const auto& inputs = m_document.graph().inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port]) m_state.edges.erase({*inputs[port], {id, std::int32_t(port)}});
        if (const NodeFacts* facts = m_document.analysis().find(id)) predictInto(*facts);
    }
    Q_EMIT stateChanged();
}

/// The price of every copy of a node's inputs.
void RunController::predictInto(const NodeFacts& facts) {
    if (facts.disabled) return;
    const Analysis& analysis = m_document.analysis();
    const auto add = [&](const Edge& edge, Device from, Device to, bool pinned) {
        const std::optional<TensorType>& type = analysis.typeOf(edge.from);
        if (!type || !type->isKnown()) return;
        const Price price = priceOfTransfer(*type, from, to, pinned, m_document.devices());
        EdgeRun run;
        run.bytes = double(price.bytes);
        run.ns = price.ns;
        run.gbPerSecond = price.ns > 0 ? run.bytes / price.ns : 0;
        run.modelled = price.modelled;
        if (!from.sharesRankWith(to)) run.link = m_document.devices().link().name;
        m_state.edges[edge] = run;
    };
    if (isStaged(facts)) add(stagingOf(facts.id), facts.device.host(), facts.device, false);
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        if (!facts.inputs[port]) continue;
        const PortRef from = *facts.inputs[port];
        const NodeFacts* source = analysis.find(from.node);
        if (!source || source->disabled || source->device == facts.device) continue;
        const bool isHostValue = facts.op && facts.op->inputAt(int(port)).hostValue;
        const Device target = isHostValue ? facts.device.host() : facts.device;
        if (source->device == target) continue;
        const bool pinned = facts.op && facts.op->role == OpRole::transfer && facts.fine &&
                            facts.attributes.has("pin_memory") && facts.attributes.flag("pin_memory");
        const PortRef to{facts.id, std::int32_t(port)};
        add({m_document.graph().sourceOf(to).value_or(from), to}, source->device, target, pinned);
    }
}

void RunController::documentChanged(const Delta& delta) {
    if (isRunning() && !m_isAgain && !delta.nodes.empty())
        m_executor.setBreakpoints(breakpointsOf(m_document.graph()));
    if (!affectsRun(delta)) return;
    m_edited = true;
    const bool wasStale = std::exchange(m_state.stale, m_state.stale || m_figures);
    for (const Change<Node>& change : delta.nodes)
        if (change.before && !change.after) m_state.nodes.erase(change.before->id);
    // The run's measurements are out of date.
    if (m_document.revised().all || m_state.stale != wasStale)
        predict();
    else
        predict(delta, m_document.revised());
}

} // namespace twb
