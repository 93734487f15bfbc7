#include "training/trainer.h"

#include "backends/world.h"
#include "core/hash.h"
#include "graph/unique_names.h"
#include "ops/batch_rows.h"
#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "placement/update_rule.h"
#include "runtime/same_plan.h"
#include "training/data_waits.h"
#include "training/sync_batch_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

namespace twb {
namespace {

/// Steps whose losses fit into the record of one run.
constexpr std::int64_t kRecorded = 4096;

/// A plan, and where it keeps what is read after a run.
struct Prepared {
    std::shared_ptr<const Plan> plan;
    TrainingPart part = TrainingPart::batch;
    PortRef losses;                    ///< one number per iteration
    std::optional<LabelCounts> counts; ///< of a validation
    std::vector<PortRef> state;
    std::map<NodeId, PortRef> gradients; ///< that are kept, by parameter
};

/// Adds a tensor that records the loss of each iteration, on the lane of the loss.
PortRef addRecord(DeltaBuilder& builder, PortRef loss, DType dtype) {
    const LaneId lane = builder.graph().find(loss.node)->lane;
    UniqueNames names(builder.graph());
    Node record;
    record.op = "Zeros";
    record.name = names.take("losses");
    record.lane = lane;
    record.attributes = {{"shape", std::vector<std::int64_t>{kRecorded}},
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

class Trainer::Impl {
public:
    Impl(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
         TrainerOptions options)
        : m_graph(graph), m_devices(std::move(devices)), m_files(std::move(files)),
          m_options(std::move(options)) {
        const std::optional<Training> training = trainingOf(graph);
        if (!training)
            throw Error(ErrorCode::badGraph,
                        "the graph has no training module: name the loss node with --loss, or choose "
                        "Graph ▸ Training ▸ Add training in the window");
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
        m_main = prepare(m_graph);
        if (m_rows.rest() > 0) m_tail = prepareTail();
        if (m_options.measures) m_measured = prepareMeasured();
        if (hasValidation()) prepareValidations();
    }

    std::int64_t batches() const { return m_rows.batches(); }

    World& world() const noexcept { return m_devices.world(); }

    void agree() {
        m_hasAgreed = true;
        if (ranks() == 1 || world().info().simulated) return;
        if (m_state.empty()) m_state = initialState();
        std::array<std::int64_t, 3> place{m_place.epoch, m_place.batch, m_place.steps};
        broadcast(DType::i64, place.data(), place.size());
        m_place = {place[0], place[1], place[2]};
        for (auto& [output, tensor] : m_state) {
            Tensor host = ownCopy(tensor);
            broadcast(host.dtype(), host.data(), static_cast<std::size_t>(host.elementCount()));
            tensor = toDevice(host, m_analysis.find(output.node)->device, m_devices);
        }
    }

    void compareParameters() {
        if (ranks() == 1 || world().info().simulated) return;
        ContentHash hash;
        for (const auto& [output, tensor] : m_state) {
            if (!gradientOf(m_graph, output.node)) continue; // statistics may differ
            const Tensor host = toHost(tensor, m_devices);
            hash.add({static_cast<const char*>(host.data()), static_cast<std::size_t>(host.byteCount())});
        }
        const std::array<std::uint64_t, 2> own{hash.value(), devicesHash()};
        std::vector<std::array<std::uint64_t, 2>> all(static_cast<std::size_t>(ranks()));
        world().run({CollectiveKind::allGather, Reduction::sum, DType::u64, own.data(), all.data(),
                     static_cast<std::int64_t>(own.size()), 0, "parameters"});
        m_hashes.clear();
        for (const auto& [parameters, devices] : all) m_hashes.push_back(parameters);
        // Unlike devices may round the same update differently; agree() then makes the parameters equal.
        if (std::ranges::any_of(all, [&](const auto& one) { return one[1] != all[0][1]; })) return;
        const auto other =
            std::ranges::find_if(m_hashes, [&](std::uint64_t one) { return one != m_hashes[0]; });
        if (other != m_hashes.end())
            throw Error(
                ErrorCode::failed,
                fmt::format("after step {}, rank {} has other parameters than rank 0: a sum over ranks "
                            "did not give both the same bits; check that machine and its MPI library, "
                            "and continue from the last checkpoint",
                            m_place.steps, other - m_hashes.begin()));
    }

    TrainedSteps run(std::int64_t most, const std::atomic<bool>* stop) {
        if (!m_hasAgreed) agree();
        const bool isTail = m_place.batch == m_rows.whole();
        const bool isMeasured = m_measured && m_place.batch + 1 == batches();
        const Prepared& prepared = isMeasured ? *m_measured : isTail ? *m_tail : m_main;
        const std::int64_t whole = m_rows.whole() - (m_measured && m_rows.rest() == 0 ? 1 : 0);
        RunOptions options;
        options.iterations =
            isTail ? 1 : std::clamp<std::int64_t>(std::min(most, whole - m_place.batch), 1, kRecorded);
        options.firstIteration = isTail ? m_place.epoch : m_place.epoch * m_rows.whole() + m_place.batch;
        options.stop = ranks() == 1 ? stop : nullptr;
        const std::map<NodeId, Tensor> before = isMeasured ? parametersNow() : std::map<NodeId, Tensor>();
        RunObserver* const observer = observerOf(prepared);
        DataWaits waits(observer);
        const RunResult result = execute(prepared, options, m_state, m_hasBatches ? &waits : observer);
        for (const PortRef output : prepared.state) m_state[output] = *result.tensor(output);

        TrainedSteps out;
        if (isMeasured && result.iterations > 0) out.figures = measure(result, before);
        out.losses = recorded(result, prepared.losses, options.firstIteration);
        out.wallNs = result.wallNs;
        out.clockNs = result.clockNs;
        out.dataWaitNs = waits.waitNs();
        const std::int64_t size = isTail ? m_rows.rest() : m_rows.size;
        if (ranks() > 1) {
            const double weight = shareOf(size).weight;
            for (double& loss : out.losses) loss *= weight;
            sumOverRanks(out.losses);
        }
        out.rows = m_hasBatches ? size * result.iterations : 0;
        for (const double loss : out.losses) out.rowLoss += loss * static_cast<double>(size);
        m_place.batch += result.iterations;
        m_place.steps += result.iterations;
        out.endsEpoch = m_place.batch == batches();
        if (out.endsEpoch) m_place = {m_place.epoch + 1, 0, m_place.steps};
        return out;
    }

    std::optional<Validation> validate(const std::atomic<bool>* stop) {
        Validation out;
        std::int64_t correct = 0;
        std::int64_t labels = 0;
        bool isWhole = true;
        const BatchRows rows = validationRows();
        const bool isShared = sharesValidation();
        // Each rank takes its part of the batches.
        const auto add = [&](const Prepared& prepared, std::int64_t all, std::int64_t size) {
            const std::int64_t batches = isShared ? all * (rank() + 1) / ranks() : all;
            for (std::int64_t done = isShared ? all * rank() / ranks() : 0; done < batches;) {
                RunOptions options;
                options.iterations = std::min(batches - done, kRecorded);
                options.firstIteration = done;
                options.stop = ranks() == 1 ? stop : nullptr;
                const RunResult result = execute(prepared, options, forwardState(), observerOf(prepared));
                isWhole = isWhole && result.iterations == options.iterations;
                if (!isWhole) return;
                for (const double loss : recorded(result, prepared.losses, done))
                    out.loss += loss * static_cast<double>(size);
                if (prepared.counts) {
                    const auto counted = [&](PortRef of) { return toHost(*result.tensor(of), m_devices); };
                    correct += counted(prepared.counts->correct).toIntegers()[0];
                    labels += counted(prepared.counts->labels).toIntegers()[0];
                    if (prepared.counts->confusion) out.confusion.add(counted(*prepared.counts->confusion));
                }
                done += options.iterations;
                out.rows += options.iterations * size;
            }
        };
        if (m_validation) add(*m_validation, rows.whole(), rows.size);
        if (m_validationTail && isWhole) add(*m_validationTail, 1, rows.rest());
        if (!isWhole) return std::nullopt;
        if (isShared) sumValidations(out, correct, labels);
        out.loss /= static_cast<double>(out.rows);
        if (labels > 0) out.accuracy = static_cast<double>(correct) / static_cast<double>(labels);
        return out;
    }

    void scaleRate(double factor) {
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
        m_main = prepare(m_graph);
        if (m_rows.rest() > 0) m_tail = prepareTail();
        if (m_measured) m_measured = prepareMeasured();
    }

    bool hasValidation() const {
        return m_hasBatches && (!m_options.validationData.empty() || m_heldRows > 0);
    }

    std::optional<double> learningRate() const {
        if (m_place.steps == 0) return std::nullopt;
        for (const NodeId id : m_training.nodes) {
            const NodeFacts* facts = m_analysis.find(id);
            if (!facts->op || facts->op->name != "LearningRate") continue;
            const Tensor steps = toHost(m_state.at(*facts->inputs[0]), m_devices);
            const std::int64_t last = steps.values<std::int64_t>()[0] - 1;
            Tensor before = Tensor::onHost(steps.type());
            before.values<std::int64_t>()[0] = last;
            Tensor rate = Tensor::onHost(*facts->outputs[0]);
            const std::vector<TensorView> inputs{before.view()};
            const std::vector<TensorView> outputs{rate.view()};
            facts->op->kernel({inputs, outputs, facts->attributes});
            return rate.at(0);
        }
        return std::nullopt;
    }

    std::map<std::string, Tensor> state() const {
        std::map<std::string, Tensor> out;
        for (const auto& [output, tensor] : m_state) out[nameOf(output.node)] = ownCopy(tensor);
        return out;
    }

    void restore(const TrainingPlace& place, const std::map<std::string, Tensor>& state,
                 const std::string& origin) {
        std::map<PortRef, Tensor> restored;
        for (const PortRef output : m_main.state) {
            const std::string name = nameOf(output.node);
            const auto saved = state.find(name);
            const TensorType& type = *m_analysis.typeOf(output);
            if (saved == state.end())
                throw Error(ErrorCode::badFile,
                            fmt::format("{}: the checkpoint does not match this graph: it has no tensor "
                                        "\"{}\"; resume with the graph and options of the checkpoint",
                                        origin, name));
            if (saved->second.type() != type)
                throw Error(
                    ErrorCode::badFile,
                    fmt::format(
                        "{}: the checkpoint does not match this graph: \"{}\" is {} in the checkpoint, but "
                        "{} in the graph; resume with the graph and options of the checkpoint",
                        origin, name, saved->second.type().toString(), type.toString()));
            restored[output] = toDevice(saved->second, m_analysis.find(output.node)->device, m_devices);
        }
        if (place.batch >= batches() || place.batch < 0 || place.epoch < 0)
            throw Error(ErrorCode::badFile,
                        fmt::format("{}: the checkpoint is at batch {}, but an epoch now has {} batches; "
                                    "resume with the same data and batch size",
                                    origin, place.batch, batches()));
        m_state = std::move(restored);
        m_place = place;
        m_hasAgreed = false;
    }

    std::map<std::string, Tensor> parameters() const {
        std::map<std::string, Tensor> out;
        for (const auto& [output, tensor] : m_state)
            if (!std::ranges::binary_search(m_training.nodes, output.node) || isAverage(output.node))
                out[nameOf(output.node)] = ownCopy(tensor);
        return out;
    }

    const std::vector<std::uint64_t>& parameterHashes() const { return m_hashes; }
    const std::map<std::string, Tensor>& gradients() const { return m_gradients; }
    bool isModelled() const { return m_main.plan->virtualClock; }
    const Plan& plan() const { return *m_main.plan; }
    const std::map<NodeId, std::string>& names() const { return m_names; }
    const BatchRows& rows() const { return m_rows; }
    bool hasBatches() const { return m_hasBatches; }
    const TrainingPlace& place() const { return m_place; }

private:
    /// Of the parameters (Optimizer::averageDecay).
    bool isAverage(NodeId source) const {
        return std::ranges::any_of(m_graph.outgoing(source), [&](const Edge& edge) {
            return edge.to.port == 0 && m_graph.find(edge.to.node)->op == "AverageUpdate";
        });
    }

    const std::string& nameOf(NodeId id) const { return m_names.at(id); }

    /// Of the models of the devices that the plan uses.
    std::uint64_t devicesHash() const {
        ContentHash hash;
        for (const PlanStream& stream : m_main.plan->streams) {
            const DeviceInfo& info = m_devices.at(stream.device).info();
            hash.add(info.name).add(std::uint64_t{info.simulated});
        }
        return hash.value();
    }

    /// The tensor on the host, not shared with a run that will change it.
    Tensor ownCopy(const Tensor& tensor) const {
        const Tensor host = toHost(tensor, m_devices);
        Tensor own = Tensor::onHost(host.type());
        std::memcpy(own.data(), host.data(), static_cast<std::size_t>(host.type().byteCount()));
        return own;
    }

    void findBatches() {
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

    Prepared prepare(const Graph& graph) {
        m_analysis = analyze(graph, m_devices, m_options.policy, m_files.get());
        DeltaBuilder builder(graph, {});
        Prepared out = finish(builder);
        if (!m_names.empty()) return out;
        std::set<std::string> taken;
        for (const PortRef output : out.state) {
            std::string name = graph.find(output.node)->name;
            if (!taken.insert(name).second) name += fmt::format("#{}", value(output.node));
            m_names[output.node] = name;
        }
        return out;
    }

    /// Host copies of the trained parameters, without their averages. Empty before the first step.
    std::map<NodeId, Tensor> parametersNow() const {
        std::map<NodeId, Tensor> out;
        for (const auto& [parameter, gradient] : m_measured->gradients)
            if (const auto now = m_state.find({parameter, 0}); now != m_state.end())
                out.emplace(parameter, ownCopy(now->second));
        return out;
    }

    /// The figures of the step that made `result`.
    std::vector<ParameterFigures> measure(const RunResult& result, const std::map<NodeId, Tensor>& before) {
        std::vector<ParameterFigures> out;
        for (const auto& [parameter, output] : m_measured->gradients) {
            const Tensor gradient = toHost(*result.tensor(output), m_devices);
            m_gradients[nameOf(parameter)] = gradient;
            const auto old = before.find(parameter);
            out.push_back(figuresOf(nameOf(parameter), gradient, old == before.end() ? nullptr : &old->second,
                                    toHost(m_state.at({parameter, 0}), m_devices)));
        }
        return out;
    }

    /// Adds the record of the loss, and compiles.
    Prepared finish(DeltaBuilder& builder, const std::optional<LabelCounts>& counts = std::nullopt,
                    bool keepsGradients = false) {
        Prepared out;
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
            if (!facts.op || facts.op->role != OpRole::source || !isUpdated(builder.graph(), output))
                continue;
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

    std::int64_t ranks() const noexcept { return world().size(); }
    std::int64_t rank() const noexcept { return world().rank(); }

    /// The part of a batch that this rank computes.
    struct Share {
        std::int64_t rows = 0;
        std::int64_t offset = 0; ///< its first row in the batch
        double weight = 1;       ///< of its mean loss in that of the batch
    };
    Share shareOf(std::int64_t rows) const {
        if (!m_hasBatches) return {rows, 0, 1 / static_cast<double>(ranks())};
        const std::int64_t most = rows % ranks(); // ranks with one row more
        const std::int64_t own = rows / ranks() + (rank() < most ? 1 : 0);
        if (own == 0) return {1, 0, 0};
        return {own, rank() * (rows / ranks()) + std::min(rank(), most),
                static_cast<double>(own) / static_cast<double>(rows)};
    }

    void synchronize() {
        SyncBatchNorms added = synchronizeBatchNorms(
            m_graph, analyze(m_graph, m_devices, m_options.policy, m_files.get()), m_devices);
        m_graph.apply(added.delta);
        m_weights = std::move(added.weights);
    }

    /// The graph for this rank's share of batches of `rows` rows, from `firstRow` of an epoch on.
    Graph shareOfGraph(std::int64_t rows, std::optional<std::int64_t> firstRow) const {
        const Share share = shareOf(rows);
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
                fmt::format(
                    "rank {} computes {} of the {} rows of a batch, which the graph does not accept: {}",
                    rank(), share.rows, rows, e.what()));
        }
        return graph;
    }

    /// All ranks must have the same graph and data before each takes its share.
    void compareGraphs() {
        if (world().info().simulated) return;
        m_analysis = analyze(m_graph, m_devices, m_options.policy, m_files.get());
        DeltaBuilder builder(m_graph, {});
        requireSamePlan(*finish(builder).plan);
    }

    void broadcast(DType dtype, void* values, std::size_t count) const {
        world().run({CollectiveKind::broadcast, Reduction::sum, dtype, values, values,
                     static_cast<std::int64_t>(count), 0, "state"});
    }
    void sumOverRanks(std::vector<double>& values) const {
        if (world().info().simulated) {
            for (double& value : values) value *= static_cast<double>(ranks());
            return;
        }
        world().run({CollectiveKind::allReduce, Reduction::sum, DType::f64, values.data(), values.data(),
                     static_cast<std::int64_t>(values.size()), 0, "figures"});
    }

    /// Whether each rank validates a part of the batches. Simulated ranks do not run, and a graph with calls
    /// over all ranks needs the same number of them on each rank: then each rank validates all batches.
    bool sharesValidation() const {
        const auto calls = [](const std::optional<Prepared>& prepared) {
            return prepared && std::ranges::any_of(prepared->plan->steps, [&](const Step& step) {
                       return prepared->plan->isCollective(step);
                   });
        };
        return ranks() > 1 && !world().info().simulated && !calls(m_validation) && !calls(m_validationTail);
    }

    /// Sums are exact up to 2^53 rows.
    void sumValidations(Validation& out, std::int64_t& correct, std::int64_t& labels) const {
        ConfusionMatrix& confusion = out.confusion;
        std::int64_t classes = confusion.classes; // a rank without a batch does not know it
        world().run(
            {CollectiveKind::allReduce, Reduction::max, DType::i64, &classes, &classes, 1, 0, "figures"});
        confusion.classes = classes;
        confusion.counts.resize(static_cast<std::size_t>(classes * classes));
        std::vector<double> sums{out.loss, static_cast<double>(out.rows), static_cast<double>(correct),
                                 static_cast<double>(labels)};
        for (const std::int64_t count : confusion.counts) sums.push_back(static_cast<double>(count));
        sumOverRanks(sums);
        out.loss = sums[0];
        out.rows = std::llround(sums[1]);
        correct = std::llround(sums[2]);
        labels = std::llround(sums[3]);
        for (std::size_t i = 0; i < confusion.counts.size(); ++i)
            confusion.counts[i] = std::llround(sums[4 + i]);
    }

    /// What the sources of the state make before the first step.
    std::map<PortRef, Tensor> initialState() const {
        std::set<NodeId> sources;
        for (const PortRef output : m_main.state) sources.insert(output.node);
        DeltaBuilder builder(m_graph, {});
        const Graph whole = m_graph;
        for (const Node& node : whole.nodes())
            if (!sources.contains(node.id)) builder.removeNode(node.id);
        const Analysis analysis = analyze(builder.graph(), m_devices, m_options.policy, m_files.get());
        CompileOptions options;
        options.policy = m_options.policy;
        options.keep = {m_main.state.begin(), m_main.state.end()};
        const RunResult result =
            runToEnd(compile(builder.graph(), analysis, m_devices, m_files, options), RunOptions{});
        if (result.status == RunStatus::failed) throw Error(ErrorCode::failed, result.errors.front().message);
        std::map<PortRef, Tensor> out;
        for (const PortRef output : m_main.state) out[output] = *result.tensor(output);
        return out;
    }

    Prepared prepareTail(bool keepsGradients = false) {
        try {
            const Graph graph = shareOfGraph(m_rows.rest(), m_rows.first + m_rows.count - m_rows.rest());
            DeltaBuilder whole(graph, {});
            Prepared out = finish(whole, {}, keepsGradients);
            out.part = TrainingPart::lastBatch;
            return out;
        } catch (const Error& e) {
            throw Error(
                e.code(),
                fmt::format("the last batch of an epoch has {} rows, which the graph does not accept: "
                            "{}. Set drop_last of Batches to leave these rows out.",
                            m_rows.rest(), e.what()));
        }
    }

    /// The last step of an epoch, which keeps the gradients. The others share their memory.
    Prepared prepareMeasured() {
        if (m_rows.rest() > 0) return prepareTail(true);
        DeltaBuilder builder(m_graph, {});
        return finish(builder, {}, true);
    }

    BatchRows validationRows() const {
        if (m_options.validationData.empty())
            return {m_heldRows, std::min(m_rows.size, m_heldRows),
                    m_rows.dropsLast && m_heldRows > m_rows.size};
        const std::int64_t count = rowsOf(m_options.validationData, *m_files);
        return {count, std::min(m_rows.size, count), m_rows.dropsLast && count > m_rows.size};
    }

    void prepareValidations() {
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
        if (rows.whole() > 0) m_validation = prepareValidation(rows, 0);
        if (rows.rest() > 0)
            m_validationTail =
                prepareValidation({rows.rest(), rows.rest(), false, 0}, rows.count - rows.rest());
    }

    /// The graph in inference, on the validation rows from `first` on.
    Prepared prepareValidation(const BatchRows& rows, std::int64_t first) {
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
        Prepared out = finish(builder, addLabelCounts(builder, analysis, m_training.loss));
        out.part = TrainingPart::validation;
        return out;
    }

    /// What the forward graph reads of the state.
    std::map<PortRef, Tensor> forwardState() const {
        std::map<PortRef, Tensor> out;
        for (const auto& [output, tensor] : m_state)
            if (!std::ranges::binary_search(m_training.nodes, output.node)) out[output] = tensor;
        return out;
    }

    RunObserver* observerOf(const Prepared& prepared) const {
        return m_options.observe ? m_options.observe(prepared.plan, prepared.part) : nullptr;
    }

    RunResult execute(const Prepared& prepared, RunOptions& options, std::map<PortRef, Tensor> state,
                      RunObserver* observer) const {
        options.allowTf32 = m_options.allowTf32;
        options.state = std::move(state);
        RunResult result = runToEnd(prepared.plan, options, observer);
        if (result.status == RunStatus::failed)
            throw Error(ErrorCode::failed,
                        result.errors.empty() ? "the run failed" : result.errors.front().message);
        return result;
    }

    std::vector<double> recorded(const RunResult& result, PortRef record, std::int64_t first) const {
        const Tensor values = toHost(*result.tensor(record), m_devices);
        std::vector<double> out;
        for (std::int64_t i = 0; i < result.iterations; ++i)
            out.push_back(values.at((first + i) % kRecorded));
        return out;
    }

    Graph m_graph;
    Graph m_alone;                 ///< of several ranks: as a single rank runs it
    std::vector<NodeId> m_weights; ///< SyncBatchNorms::weights
    const DeviceMap m_devices;
    const std::shared_ptr<const TensorFiles> m_files;
    const TrainerOptions m_options;
    Training m_training;
    std::vector<NodeId> m_batches;
    BatchRows m_rows;
    std::int64_t m_heldRows = 0;
    bool m_hasBatches = false;
    bool m_hasAgreed = false; ///< all ranks have the same state and place
    double m_rateFactor = 1;
    std::map<NodeId, std::string> m_names; ///< of the sources that training changes
    Analysis m_analysis;
    Prepared m_main;
    std::optional<Prepared> m_tail;
    std::optional<Prepared> m_measured; ///< TrainerOptions::measures
    std::optional<Prepared> m_validation;
    std::optional<Prepared> m_validationTail;
    std::map<PortRef, Tensor> m_state;   ///< on its devices
    std::vector<std::uint64_t> m_hashes; ///< of the parameters, by rank
    std::map<std::string, Tensor> m_gradients;
    TrainingPlace m_place;
};

Trainer::Trainer(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
                 TrainerOptions options)
    : m_impl(std::make_unique<Impl>(graph, std::move(devices), std::move(files), std::move(options))) {}
Trainer::~Trainer() = default;

std::int64_t Trainer::batchesPerEpoch() const noexcept { return m_impl->batches(); }
std::int64_t Trainer::rowsPerEpoch() const noexcept {
    return m_impl->hasBatches() ? m_impl->rows().count : 0;
}
bool Trainer::hasValidation() const noexcept { return m_impl->hasValidation(); }
bool Trainer::isModelled() const noexcept { return m_impl->isModelled(); }
World& Trainer::world() const noexcept { return m_impl->world(); }
const Plan& Trainer::plan() const noexcept { return m_impl->plan(); }
void Trainer::agree() { m_impl->agree(); }
void Trainer::compareParameters() { m_impl->compareParameters(); }
const std::vector<std::uint64_t>& Trainer::parameterHashes() const noexcept {
    return m_impl->parameterHashes();
}
TrainedSteps Trainer::run(std::int64_t most, const std::atomic<bool>* stop) {
    return m_impl->run(most, stop);
}
std::optional<Validation> Trainer::validate(const std::atomic<bool>* stop) { return m_impl->validate(stop); }
void Trainer::scaleRate(double factor) { m_impl->scaleRate(factor); }
std::optional<double> Trainer::learningRate() const { return m_impl->learningRate(); }
const TrainingPlace& Trainer::place() const noexcept { return m_impl->place(); }
std::map<std::string, Tensor> Trainer::state() const { return m_impl->state(); }
void Trainer::restore(const TrainingPlace& place, const std::map<std::string, Tensor>& state,
                      const std::string& origin) {
    m_impl->restore(place, state, origin);
}
std::map<std::string, Tensor> Trainer::parameters() const { return m_impl->parameters(); }
const std::map<std::string, Tensor>& Trainer::gradients() const noexcept { return m_impl->gradients(); }
const std::map<NodeId, std::string>& Trainer::names() const noexcept { return m_impl->names(); }

} // namespace twb
