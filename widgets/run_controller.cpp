#include "widgets/run_controller.h"

#include "core/error.h"
#include "ops/op_table.h"
#include "profile/report.h"
#include "widgets/breakpoint_edits.h"
#include "widgets/text.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace twb {
namespace {

constexpr int kFrameMs = 16;
/// How long somebody who asked to stop waits for tensors to look at.
constexpr double kPatienceNs = 50e6;
/// Until stopped: StepRecord counts iterations in 32 bits.
constexpr std::int64_t kForever = std::numeric_limits<std::uint32_t>::max();

/// The outputs that a run shall keep: small ones first, up to a bound in all.
std::set<PortRef> outputsWithin(const Analysis& analysis, std::uint64_t bound) {
    std::vector<std::pair<std::uint64_t, PortRef>> outputs;
    for (const NodeFacts& facts : analysis.nodes)
        for (std::size_t port = 0; port < facts.outputs.size(); ++port) {
            const std::optional<TensorType>& type = facts.outputs[port];
            const std::uint64_t bytes = type && type->isKnown() ? std::uint64_t(type->byteCount()) : 0;
            outputs.push_back({bytes, {facts.id, std::int32_t(port)}});
        }
    std::sort(outputs.begin(), outputs.end());
    std::set<PortRef> kept;
    std::uint64_t sum = 0;
    for (const auto& [bytes, output] : outputs) {
        if (bytes > bound - sum) break;
        sum += bytes;
        kept.insert(output);
    }
    return kept;
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
        if (m_figures) m_state.stale = true;
        predict();
    });
    predict();
}

RunController::~RunController() { m_batch.close(); }

void RunController::run(std::int64_t iterations) { start(iterations, false); }

void RunController::runContinuously() { start(kForever, true); }

void RunController::stop() {
    if (isRunning()) m_executor.cancel();
}

std::shared_ptr<const Plan> RunController::compilePlan(const Graph& graph, const Analysis& analysis,
                                                       bool keep) const {
    CompileOptions options;
    options.revision = m_document.revision();
    options.policy = graph.info().policy;
    if (keep) options.keep = outputsWithin(analysis, kKeptBytes);
    options.fuse = !keep; // of what is looked at each op has its own output
    return compile(graph, analysis, m_document.devices(), m_document.files(), options);
}

/// Anew, as compile needs its order: the document's is kept up with edits, which leave none.
Analysis RunController::analysisOf(const Graph& graph) const {
    return analyze(graph, m_document.devices(), graph.info().policy, m_document.files().get());
}

/// For the iteration that only brings tensors back: the measured run has written its files, and they are not
/// written again. Null when the graph writes none.
std::shared_ptr<const Plan> RunController::compileLook() const {
    DeltaBuilder builder(m_document.graph(), "Look");
    bool writes = false;
    for (const Node& node : m_document.graph().nodes()) {
        const Op* op = findOp(node.op);
        if (!op || op->role != OpRole::sink || !op->attribute("path")) continue;
        builder.removeNode(node.id);
        writes = true;
    }
    if (!writes) return nullptr;
    return compilePlan(builder.graph(), analysisOf(builder.graph()), true);
}

void RunController::start(std::int64_t iterations, bool continuous) {
    if (isRunning()) return;
    if (!m_document.analysis().mayRun()) {
        const std::size_t errors = m_document.causeCount(Severity::error);
        const QString sentence =
            errors == 1
                ? tr("The graph has 1 problem. Fix it to run the graph.")
                : tr("The graph has %1 problems. Fix them to run the graph.").arg(grouped(qint64(errors)));
        log(Severity::error, sentence);
        Q_EMIT refused(sentence);
        return;
    }
    if (m_document.graph().nodes().empty()) {
        Q_EMIT refused(tr("The graph is empty. Drag an op from the palette to a lane."));
        return;
    }
    const bool once = iterations == 1;
    // Who stops looks around: memory is not shared then, and most tensors are there.
    const std::map<NodeId, Breakpoints> breakpoints = breakpointsOf(m_document.graph());
    const bool stops = std::any_of(breakpoints.begin(), breakpoints.end(), [](const auto& of) {
        return std::any_of(of.second.begin(), of.second.end(), [](const Breakpoint& b) { return b.enabled; });
    });
    try {
        const Analysis analysis = analysisOf(m_document.graph());
        m_leanPlan = compilePlan(m_document.graph(), analysis, false);
        m_lookPlan = once || stops ? nullptr : compileLook();
        if (!m_lookPlan) m_lookPlan = compilePlan(m_document.graph(), analysis, true);
    } catch (const Error& error) {
        log(Severity::error, toQt(error.what()));
        Q_EMIT refused(toQt(error.what()));
        return;
    }

    if (m_document.analysis().hasErrors())
        log(Severity::warning, tr("Placeholders and their consumers do not run."));
    const std::shared_ptr<const Plan> plan = once || stops ? m_lookPlan : m_leanPlan;
    m_executor.wait(); // the last one has reported its end; its threads may still be leaving
    m_figures = std::make_shared<RunFigures>(plan);
    m_snapshot = m_document.graph();
    m_diagnostics = m_document.analysis().diagnostics;
    m_inputs = inputFiles(*plan); // as they are before the run, so that a change during it shows
    m_result.reset();
    m_measured.reset();
    m_stop.reset();
    m_state.stop.reset();
    m_looking = false;
    m_tensors.clear();
    m_lastCopy.reset();
    m_probes.clear();
    assignEdges(*plan);
    m_state.nodes.clear();
    for (const Node& node : m_snapshot.nodes()) m_state.nodes.emplace(node.id, NodeRun{});
    m_state.running = true;
    m_state.stale = false;
    m_continuous = continuous;
    m_done = 0;
    m_total = continuous ? 0 : iterations;
    ++m_number;
    m_sentence =
        continuous ? tr("Run %1: running until stopped").arg(m_number) : tr("Run %1: running").arg(m_number);
    m_ranWithTf32 = m_allowsTf32;
    log(Severity::note, continuous ? tr("Run %1 started: %2 steps, until stopped")
                                         .arg(m_number)
                                         .arg(grouped(qint64(plan->steps.size())))
                                   : tr("Run %1 started: %2 steps, %3 iterations")
                                         .arg(m_number)
                                         .arg(grouped(qint64(plan->steps.size())), grouped(iterations)));
    if (m_ranWithTf32)
        log(Severity::note, tr("TF32 allowed: real GPUs may round f32 matmul and convolution."));
    RunOptions options;
    options.iterations = iterations;
    options.cache = once;
    options.allowTf32 = m_ranWithTf32;
    options.breakpoints = breakpoints;
    m_executor.start(plan, options, m_batch);
    m_timer.start();
    Q_EMIT started();
}

void RunController::assignEdges(const Plan& plan) {
    m_edges.clear();
    for (const Transfer& transfer : plan.transfers) {
        std::vector<Edge> edges{transfer.edge()};
        if (transfer.kind == TransferKind::implicitTo)
            for (const ImplicitCopy& copy : m_document.analysis().implicitCopies)
                if (copy.from == transfer.from && copy.target == transfer.target) edges = copy.edges;
        m_edges.push_back(std::move(edges));
    }
}

void RunController::tick() {
    RunEvents events = m_batch.take();
    if (m_stop && !events.end) return; // nothing happens
    if (m_looking) {
        if (!events.end) return;
        m_tensors = std::move(events.end->tensors);
    } else {
        m_done = events.done;
        m_figures->add(events.records);
        if (events.end) {
            m_figures->finish();
            m_stop.reset();
            m_state.stop.reset();
        }
        updateNodes(events.end.has_value());
        updateEdges();
        if (events.end) {
            m_tensors = events.end->tensors;
            m_measured = std::move(events.end);
            if (startLooking()) return;
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

/// A measurement shares memory, so most tensors are gone when it ends. Another iteration, apart from the
/// figures, brings them back, unless that would keep somebody waiting who asked to stop.
bool RunController::startLooking() {
    if (m_figures->sharedPlan() == m_lookPlan || m_measured->status == RunStatus::failed) return false;
    if (m_measured->iterations == 0) return false;
    const double iterationNs = double(m_measured->wallNs) / double(m_measured->iterations);
    if (m_measured->status == RunStatus::cancelled && iterationNs > kPatienceNs) return false;
    m_executor.wait();
    m_looking = true;
    RunOptions options;
    options.cache = true;
    options.allowTf32 = m_ranWithTf32;
    m_executor.start(m_lookPlan, options, m_batch);
    return true;
}

/// A node's time is the sum over its steps: the mean while it runs, which costs nothing to know, and the
/// median in the end.
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
        const Step& step = plan.steps[index];
        // What several ops took together is the time of none of them.
        for (const NodeId member : step.members)
            if (const auto one = m_state.nodes.find(member); one != m_state.nodes.end())
                one->second.state = rows[index].state;
        if (step.chain) continue;
        const auto found = m_state.nodes.find(step.node);
        if (found == m_state.nodes.end()) continue; // an implicit copy stands for no node
        NodeRun& node = found->second;
        node.state = rows[index].state;
        // A staging copy has a price of its own, and would mix modelled time with the reading's measured one.
        if (step.transfer != kNone && plan.transfers[step.transfer].kind == TransferKind::staging) continue;
        node.modelled = plan.virtualClock && plan.devices.isSimulated(plan.streams[step.stream].device);
        node.once = step.setup;
        node.ns = final ? node.ns + timeOf(index) : timeOf(index);
    }
}

void RunController::updateEdges() {
    const std::vector<LedgerRow>& rows = m_figures->ledger().rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const LedgerRow& row = rows[i];
        if (row.count == 0) continue;
        EdgeRun run;
        run.bytes = double(row.bytes) / double(row.count);
        run.ns = double(row.totalNs) / double(row.count);
        if (!m_state.running) run.ns = row.medianNs();
        run.gbPerSecond = run.ns > 0 ? run.bytes / run.ns : 0;
        run.modelled = m_figures->plan().transfers[i].modelled;
        run.predicted = false;
        for (const Edge& edge : m_edges[i]) m_state.edges[edge] = run;
    }
}

void RunController::finish(RunResult result) {
    const Plan& plan = m_figures->plan();
    m_state.running = false;
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
    m_done = result.iterations;
    const QString time = plan.virtualClock
                             ? tr("%1 modelled, %2 wall time")
                                   .arg(duration(double(result.clockNs)), duration(double(result.wallNs)))
                             : duration(double(result.wallNs));
    const QString iterations =
        result.iterations == 1 ? tr("1 iteration") : tr("%1 iterations").arg(grouped(result.iterations));
    switch (result.status) {
    case RunStatus::finished:
        m_sentence = tr("Run %1 finished: %2 in %3").arg(m_number).arg(iterations, time);
        break;
    case RunStatus::cancelled:
        m_sentence = tr("Run %1 stopped after %2 in %3").arg(m_number).arg(iterations, time);
        break;
    case RunStatus::failed:
        m_sentence =
            tr("Run %1 failed: %2")
                .arg(m_number)
                .arg(result.errors.empty() ? tr("unknown reason") : toQt(result.errors.front().message));
        break;
    }
    const bool failed = result.status == RunStatus::failed;
    m_result = std::move(result);
    updateEdges();
    readProbes();
    log(failed ? Severity::error : Severity::note, m_sentence);
    for (const ProbeValue& probe : m_probes)
        log(Severity::note, tr("%1 = %2").arg(toQt(probe.name), compact(probe.value)));
}

void RunController::readProbes() {
    for (const Node& node : m_snapshot.nodes()) {
        const Op* op = findOp(node.op);
        if (!op || op->role != OpRole::sink) continue;
        const std::optional<PortRef> source = m_snapshot.sourceOf({node.id, 0});
        if (!source) continue;
        const std::optional<TensorType>& type = m_document.analysis().typeOf(*source);
        if (type && type->isKnown() && type->shape.elementCount() != 1) continue;
        const std::optional<Tensor> value = tensor(*source);
        if (value && value->elementCount() == 1) m_probes.push_back(probe(node.name, *value));
    }
}

RunReport RunController::report() const {
    RunReport out;
    if (!m_figures || !m_result) return out;
    out.file = (m_document.path().isEmpty() ? m_document.title() : m_document.path()).toStdString();
    out.policy = m_snapshot.info().policy.toString();
    out.allowTf32 = m_ranWithTf32;
    out.plan = m_figures->sharedPlan();
    out.ledger = &m_figures->ledger();
    out.steps = &m_figures->steps();
    out.timeline = &m_figures->timeline();
    out.graph = &m_snapshot;
    out.result = *m_result;
    out.diagnostics = m_diagnostics;
    out.inputs = m_inputs;
    for (const Node& node : m_snapshot.nodes()) {
        const auto source = node.op == "Probe" ? m_snapshot.sourceOf({node.id, 0}) : std::nullopt;
        const std::optional<Tensor> seen = source ? tensor(*source) : std::nullopt;
        if (seen) out.probes.push_back(probe(node.name, *seen));
    }
    return out;
}

std::optional<Tensor> RunController::tensor(PortRef output) const {
    if ((!m_result && !m_stop) || !m_figures) return std::nullopt;
    if (m_lastCopy && m_lastCopy->first == output) return m_lastCopy->second;
    if (m_stop) return tensorAtStop(output);
    const auto kept =
        std::find_if(m_tensors.begin(), m_tensors.end(), [&](const auto& t) { return t.first == output; });
    if (kept == m_tensors.end() || std::uint64_t(kept->second.byteCount()) > kKeptBytes) return std::nullopt;
    try {
        m_lastCopy = {output, toHost(kept->second, m_figures->plan().devices)};
    } catch (const Error&) {
        return std::nullopt; // its device is gone: there is nothing to show
    }
    return m_lastCopy->second;
}

void RunController::forget() {
    if (isRunning()) {
        m_timer.stop();
        m_batch.close(); // or a full batch would wait for us while we wait for the executor
        m_executor.cancel();
        m_executor.wait();
    }
    const bool wasRunning = std::exchange(m_state.running, false);
    m_state = {};
    m_figures.reset();
    m_edges.clear();
    m_result.reset();
    m_measured.reset();
    m_stop.reset();
    m_leanPlan.reset();
    m_lookPlan.reset();
    m_tensors.clear();
    m_probes.clear();
    m_lastCopy.reset();
    m_sentence.clear();
    m_done = m_total = 0;
    predict();
    if (wasRunning) Q_EMIT finished();
}

/// Every edge that crosses lanes has a price before anything ran: by the profiles of what stands behind them.
/// What a run found out stays until the next run or a change of the graph.
void RunController::predict() {
    const std::map<Edge, EdgeRun> before = std::exchange(m_state.edges, {});
    for (const NodeFacts& facts : m_document.analysis().nodes) predictInto(facts);
    if (!m_state.stale)
        for (auto& [edge, run] : m_state.edges)
            if (const auto known = before.find(edge); known != before.end() && !known->second.predicted)
                run = known->second;
    Q_EMIT stateChanged();
}

/// The same for what a change has touched.
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

/// The price of every copy that a node's inputs take.
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
        m_state.edges[edge] = run;
    };
    if (isStaged(facts)) add(stagingOf(facts.id), Device::cpu(), facts.device, false);
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        if (!facts.inputs[port]) continue;
        const PortRef from = *facts.inputs[port];
        const NodeFacts* source = analysis.find(from.node);
        if (!source || source->disabled || source->device == facts.device) continue;
        if (facts.op && facts.op->inputAt(int(port)).hostValue) continue; // stays on the cpu
        const bool pinned = facts.op && facts.op->role == OpRole::transfer && facts.fine &&
                            facts.attributes.has("pin_memory") && facts.attributes.flag("pin_memory");
        const PortRef to{facts.id, std::int32_t(port)};
        add({m_document.graph().sourceOf(to).value_or(from), to}, source->device, facts.device, pinned);
    }
}

void RunController::documentChanged(const Delta& delta) {
    if (isRunning() && !m_looking && !delta.nodes.empty())
        m_executor.setBreakpoints(breakpointsOf(m_document.graph()));
    if (!affectsRun(delta)) return;
    const bool wasStale = std::exchange(m_state.stale, m_state.stale || m_figures);
    for (const Change<Node>& change : delta.nodes)
        if (change.before && !change.after) m_state.nodes.erase(change.before->id);
    // What a run has measured is no longer so.
    if (m_document.revised().all || m_state.stale != wasStale)
        predict();
    else
        predict(delta, m_document.revised());
}

} // namespace twb
