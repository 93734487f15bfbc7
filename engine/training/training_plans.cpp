#include "training/training_plans.h"

#include "backends/world.h"
#include "graph/unique_names.h"
#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "placement/update_rule.h"
#include "runtime/same_plan.h"
#include "training/sync_batch_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace twb {
namespace {

/// Adds a tensor that records the loss of each iteration, on the lane of the loss.
PortRef addRecord(DeltaBuilder& builder, PortRef loss, DType dtype) {
    const LaneId lane = builder.graph().find(loss.node)->lane;
    UniqueNames names(builder.graph());
    Node record;
    record.op = "Zeros";
    record.name = names.take("losses");
    record.lane = lane;
    record.attributes = {{"shape", std::vector<std::int64_t>{kRecordedLosses}},
                         {"dtype", std::string(dtype == DType::f64 ? "f64" : "f32")}};
    const NodeId at = builder.addNode(std::move(record));
    Node write;
    write.op = "Record";
    write.name = names.take("losses record");
    write.lane = lane;
    const NodeId writer = builder.addNode(std::move(write));
    builder.connect({{at, 0}, {writer, 0}});
    builder.connect({loss, {writer, 1}});
    return {at, 0};
}

} // namespace

TrainingPlans::TrainingPlans(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
                             TrainerOptions options)
    : m_graph(graph), m_devices(std::move(devices)), m_files(std::move(files)),
      m_options(std::move(options)) {
    const std::optional<Training> training = trainingOf(graph);
    if (!training)
        throw Error(
            ErrorCode::badGraph,
            "the graph has no training module: choose Graph ▸ Training ▸ Add training in the window, or "
            "call twb train with --loss NODE");
    const Analysis analysis = analyze(m_graph, m_devices, m_options.policy, m_files.get());
    if (!analysis.mayRun()) throw Error(ErrorCode::badGraph, analysis.diagnostics.front().message);
    // It may be older than the last change of the forward graph.
    m_graph.apply(remakeBackward(m_graph, m_devices, m_files.get()));
    m_training = trainingOf(m_graph).value();
    findBatches();
    if (ranks() > 1) {
        compareGraphs();
        m_alone = m_graph;
        if (m_options.syncBatchNorm) synchronize();
        m_graph = shareOfGraph(m_rows.size, std::nullopt);
        m_training = trainingOf(m_graph).value();
    }
    makeSteps();
    nameSources(m_batch.state);
    if (hasValidation()) makeValidations();
}

std::int64_t TrainingPlans::ranks() const noexcept { return m_devices.world().size(); }
std::int64_t TrainingPlans::rank() const noexcept { return m_devices.world().rank(); }

bool TrainingPlans::hasValidation() const noexcept {
    return m_hasBatches && (!m_options.validationData.empty() || m_heldRows > 0);
}

void TrainingPlans::findBatches() {
    for (const Node& node : m_graph.nodes()) {
        if (node.op != "Batches" || node.disabled) continue;
        const Attributes attributes = completeAttributes(*findOp(node.op), node.attributes);
        if (attributes.text("split") != "training") continue;
        const BatchRows rows = trainingRows(attributes, *m_files);
        if (m_hasBatches && rows != m_rows)
            throw Error(
                ErrorCode::badGraph,
                fmt::format("{} gives {} rows in batches of {}, but another Batches node gives {} in "
                            "batches of {}; give both the same number of rows, batch_size, first_row and "
                            "drop_last",
                            quoted(node), rows.count, rows.size, m_rows.count, m_rows.size));
        m_rows = rows;
        m_heldRows = heldRows(attributes, rowsOf(attributes.text("path"), *m_files));
        m_hasBatches = true;
        m_batches.push_back(node.id);
    }
    if (!m_hasBatches) m_rows = {m_graph.info().iterations, 1, false};
}

/// All ranks must have the same graph and data before each takes its share.
void TrainingPlans::compareGraphs() {
    if (m_devices.world().info().simulated) return;
    m_analysis = analyze(m_graph, m_devices, m_options.policy, m_files.get());
    DeltaBuilder builder(m_graph, {});
    requireSamePlan(*finish(builder).plan);
}

void TrainingPlans::synchronize() {
    SyncBatchNorms added = synchronizeBatchNorms(
        m_graph, analyze(m_graph, m_devices, m_options.policy, m_files.get()), m_devices);
    m_graph.apply(added.delta);
    m_weights = std::move(added.weights);
}

BatchShare TrainingPlans::shareOf(std::int64_t rows) const {
    if (!m_hasBatches) return {rows, 0, 1 / static_cast<double>(ranks())};
    const std::int64_t most = rows % ranks(); // ranks with one row more
    const std::int64_t own = rows / ranks() + (rank() < most ? 1 : 0);
    if (own == 0) return {1, 0, 0};
    return {own, rank() * (rows / ranks()) + std::min(rank(), most),
            static_cast<double>(own) / static_cast<double>(rows)};
}

/// The graph for this rank's share of batches of `rows` rows, from `firstRow` of an epoch on.
Graph TrainingPlans::shareOfGraph(std::int64_t rows, std::optional<std::int64_t> firstRow) const {
    const BatchShare share = shareOf(rows);
    DeltaBuilder builder(m_graph, {});
    for (const NodeId id : m_batches) {
        builder.setAttribute(id, "batch_size", share.rows);
        if (ranks() > 1) builder.setAttribute(id, "stride", rows);
        if (ranks() > 1) builder.setAttribute(id, "offset", share.offset);
        if (firstRow) builder.setAttribute(id, "first_row", *firstRow);
    }
    for (const NodeId id : m_weights) builder.setAttribute(id, "value", share.weight);
    Graph graph = builder.graph();
    try {
        graph.apply(remakeBackward(graph, m_devices, m_files.get(), ranks() > 1 ? share.weight : 1));
    } catch (const Error& e) {
        if (ranks() == 1 || firstRow) throw;
        throw Error(
            e.code(),
            fmt::format("rank {} computes {} of the {} rows of a batch, which the graph does not accept: {}",
                        rank(), share.rows, rows, e.what()));
    }
    return graph;
}

void TrainingPlans::makeSteps() {
    m_analysis = analyze(m_graph, m_devices, m_options.policy, m_files.get());
    DeltaBuilder builder(m_graph, {});
    m_batch = finish(builder);
    if (m_rows.rest() > 0) m_lastBatch = makeLastBatch();
    if (m_options.measures) m_measured = makeMeasured();
}

void TrainingPlans::nameSources(const std::vector<PortRef>& state) {
    std::set<std::string> taken;
    for (const PortRef output : state) {
        std::string name = m_graph.find(output.node)->name;
        if (!taken.insert(name).second) name += fmt::format("#{}", value(output.node));
        m_names[output.node] = name;
    }
}

/// Adds the record of the loss, and compiles.
TrainingPlan TrainingPlans::finish(DeltaBuilder& builder, const std::optional<LabelCounts>& counts,
                                   bool keepsGradients) const {
    TrainingPlan out;
    out.counts = counts;
    const std::optional<TensorType>& loss = m_analysis.typeOf({m_training.loss, 0});
    out.losses = addRecord(builder, {m_training.loss, 0}, loss ? loss->dtype : DType::f32);
    const Analysis analysis = analyze(builder.graph(), m_devices, m_options.policy, m_files.get());
    if (!analysis.mayRun()) throw Error(ErrorCode::badGraph, analysis.diagnostics.front().message);
    CompileOptions options;
    options.policy = m_options.policy;
    options.fuseOnCpu = true;
    std::set<PortRef> figures{out.losses};
    if (counts) figures.insert({counts->correct, counts->labels});
    if (counts && counts->confusion) figures.insert(*counts->confusion);
    options.keep = figures;
    for (const NodeFacts& facts : analysis.nodes) {
        const PortRef output{facts.id, 0};
        if (!facts.op || facts.op->role != OpRole::source || !isUpdated(builder.graph(), output)) continue;
        if (figures.contains(output)) continue;
        out.state.push_back(output);
        options.keep.insert(output);
        const auto gradient = keepsGradients ? gradientOf(builder.graph(), facts.id) : std::nullopt;
        if (gradient) options.keep.insert(out.gradients[facts.id] = *gradient);
    }
    std::ranges::sort(out.state);
    out.plan = compile(builder.graph(), analysis, m_devices, m_files, options);
    return out;
}

std::map<PortRef, Tensor> TrainingPlans::initialState() const {
    std::set<NodeId> sources;
    for (const PortRef output : m_batch.state) sources.insert(output.node);
    DeltaBuilder builder(m_graph, {});
    const Graph whole = m_graph;
    for (const Node& node : whole.nodes())
        if (!sources.contains(node.id)) builder.removeNode(node.id);
    const Analysis analysis = analyze(builder.graph(), m_devices, m_options.policy, m_files.get());
    CompileOptions options;
    options.policy = m_options.policy;
    options.keep = {m_batch.state.begin(), m_batch.state.end()};
    const RunResult result =
        runToEnd(compile(builder.graph(), analysis, m_devices, m_files, options), RunOptions{});
    if (result.status == RunStatus::failed) throw Error(ErrorCode::failed, result.errors.front().message);
    std::map<PortRef, Tensor> out;
    for (const PortRef output : m_batch.state) out[output] = *result.tensor(output);
    return out;
}

void TrainingPlans::scaleRate(double factor) {
    if (factor == m_rateFactor) return;
    DeltaBuilder builder(m_graph, {});
    for (const NodeId id : m_training.nodes) {
        Node node = *m_graph.find(id);
        if (node.op != "LearningRate") continue;
        const double rate = completeAttributes(*findOp(node.op), node.attributes).number("lr");
        node.attributes.set("lr", rate / m_rateFactor * factor);
        builder.change(node);
    }
    m_graph.apply(builder.take());
    m_rateFactor = factor;
    makeSteps();
}

TrainingPlan TrainingPlans::makeLastBatch(bool keepsGradients) const {
    try {
        const Graph graph = shareOfGraph(m_rows.rest(), m_rows.first + m_rows.count - m_rows.rest());
        DeltaBuilder whole(graph, {});
        TrainingPlan out = finish(whole, {}, keepsGradients);
        out.part = TrainingPart::lastBatch;
        return out;
    } catch (const Error& e) {
        throw Error(e.code(),
                    fmt::format("the last batch of an epoch has {} rows, which the graph does not accept: "
                                "{}. Set drop_last of Batches to leave these rows out.",
                                m_rows.rest(), e.what()));
    }
}

/// The other steps share the memory of their gradients.
TrainingPlan TrainingPlans::makeMeasured() const {
    if (m_rows.rest() > 0) return makeLastBatch(true);
    DeltaBuilder builder(m_graph, {});
    return finish(builder, {}, true);
}

BatchRows TrainingPlans::validationRows() const {
    if (m_options.validationData.empty())
        return {m_heldRows, std::min(m_rows.size, m_heldRows), m_rows.dropsLast && m_heldRows > m_rows.size};
    const std::int64_t count = rowsOf(m_options.validationData, *m_files);
    return {count, std::min(m_rows.size, count), m_rows.dropsLast && count > m_rows.size};
}

void TrainingPlans::makeValidations() {
    const bool hasLabels = std::ranges::any_of(m_batches, [&](NodeId id) {
        const auto* labels = m_graph.find(id)->attributes.find("labels");
        return labels && !toString(*labels).empty();
    });
    if (!m_options.validationData.empty() && hasLabels && m_options.validationLabels.empty())
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--val {}: the labels of these rows are missing; give --val-labels",
                                m_options.validationData));
    const BatchRows rows = validationRows();
    if (rows.count == 0) throw Error(ErrorCode::badFile, "the data for validation have no rows");
    if (rows.whole() > 0) m_validation = makeValidation(rows, 0);
    if (rows.rest() > 0)
        m_lastValidation = makeValidation({rows.rest(), rows.rest(), false, 0}, rows.count - rows.rest());
}

/// The graph in inference, on the validation rows from `first` on.
TrainingPlan TrainingPlans::makeValidation(const BatchRows& rows, std::int64_t first) const {
    Graph graph = ranks() > 1 ? m_alone : m_graph;
    graph.apply(removeTraining(graph));
    DeltaBuilder builder(graph, {});
    setInference(builder);
    for (const NodeId id : m_batches) {
        builder.setAttribute(id, "batch_size", rows.size);
        builder.setAttribute(id, "first_row", first);
        builder.setAttribute(id, "shuffle", false);
        if (m_options.validationData.empty()) {
            builder.setAttribute(id, "split", std::string("validation"));
            continue;
        }
        builder.setAttribute(id, "validation", 0.0);
        builder.setAttribute(id, "path", m_options.validationData);
        if (!m_options.validationLabels.empty())
            builder.setAttribute(id, "labels", m_options.validationLabels);
    }
    const Analysis analysis = analyze(builder.graph(), m_devices, m_options.policy, m_files.get());
    TrainingPlan out = finish(builder, addLabelCounts(builder, analysis, m_training.loss));
    out.part = TrainingPart::validation;
    return out;
}

} // namespace twb
