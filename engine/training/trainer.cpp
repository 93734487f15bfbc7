#include "training/trainer.h"

#include "backends/world.h"
#include "core/hash.h"
#include "ops/op_table.h"
#include "training/data_waits.h"
#include "training/training_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace twb {

class Trainer::Impl {
public:
    Impl(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
         TrainerOptions options)
        : m_plans(graph, std::move(devices), std::move(files), std::move(options)) {}

    std::int64_t batches() const { return m_plans.rows().batches(); }

    World& world() const noexcept { return m_plans.devices().world(); }

    void agree() {
        m_hasAgreed = true;
        if (ranks() == 1 || world().info().simulated) return;
        if (m_state.empty()) m_state = m_plans.initialState();
        std::array<std::int64_t, 3> place{m_place.epoch, m_place.batch, m_place.steps};
        broadcast(DType::i64, place.data(), place.size());
        m_place = {place[0], place[1], place[2]};
        for (auto& [output, tensor] : m_state) {
            Tensor host = ownCopy(tensor);
            broadcast(host.dtype(), host.data(), static_cast<std::size_t>(host.elementCount()));
            tensor = toDevice(host, m_plans.analysis().find(output.node)->device, m_plans.devices());
        }
    }

    void compareParameters() {
        if (ranks() == 1 || world().info().simulated) return;
        ContentHash hash;
        for (const auto& [output, tensor] : m_state) {
            if (!gradientOf(m_plans.graph(), output.node)) continue; // statistics may differ
            const Tensor host = toHost(tensor, m_plans.devices());
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
        const bool isTail = m_place.batch == m_plans.rows().whole();
        const bool isMeasured = m_plans.measured() && m_place.batch + 1 == batches();
        const TrainingPlan& prepared = isMeasured ? *m_plans.measured()
                                       : isTail   ? *m_plans.lastBatch()
                                                  : m_plans.batch();
        const std::int64_t whole =
            m_plans.rows().whole() - (m_plans.measured() && m_plans.rows().rest() == 0 ? 1 : 0);
        RunOptions options;
        options.iterations =
            isTail ? 1 : std::clamp<std::int64_t>(std::min(most, whole - m_place.batch), 1, kRecordedLosses);
        options.firstIteration =
            isTail ? m_place.epoch : m_place.epoch * m_plans.rows().whole() + m_place.batch;
        options.stop = ranks() == 1 ? stop : nullptr;
        const std::map<NodeId, Tensor> before = isMeasured ? parametersNow() : std::map<NodeId, Tensor>();
        RunObserver* const observer = observerOf(prepared);
        DataWaits waits(observer);
        const RunResult result =
            execute(prepared, options, m_state, m_plans.hasBatches() ? &waits : observer);
        for (const PortRef output : prepared.state) m_state[output] = *result.tensor(output);

        TrainedSteps out;
        if (isMeasured && result.iterations > 0) out.figures = measure(result, before);
        out.losses = recorded(result, prepared.losses, options.firstIteration);
        out.wallNs = result.wallNs;
        out.clockNs = result.clockNs;
        out.dataWaitNs = waits.waitNs();
        const std::int64_t size = isTail ? m_plans.rows().rest() : m_plans.rows().size;
        if (ranks() > 1) {
            const double weight = m_plans.shareOf(size).weight;
            for (double& loss : out.losses) loss *= weight;
            sumOverRanks(out.losses);
        }
        out.rows = m_plans.hasBatches() ? size * result.iterations : 0;
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
        const BatchRows rows = m_plans.validationRows();
        const bool isShared = sharesValidation();
        // Each rank takes its part of the batches.
        const auto add = [&](const TrainingPlan& prepared, std::int64_t all, std::int64_t size) {
            const std::int64_t batches = isShared ? all * (rank() + 1) / ranks() : all;
            for (std::int64_t done = isShared ? all * rank() / ranks() : 0; done < batches;) {
                RunOptions options;
                options.iterations = std::min(batches - done, kRecordedLosses);
                options.firstIteration = done;
                options.stop = ranks() == 1 ? stop : nullptr;
                const RunResult result = execute(prepared, options, forwardState(), observerOf(prepared));
                isWhole = isWhole && result.iterations == options.iterations;
                if (!isWhole) return;
                for (const double loss : recorded(result, prepared.losses, done))
                    out.loss += loss * static_cast<double>(size);
                if (prepared.counts) {
                    const auto counted = [&](PortRef of) {
                        return toHost(*result.tensor(of), m_plans.devices());
                    };
                    correct += counted(prepared.counts->correct).toIntegers()[0];
                    labels += counted(prepared.counts->labels).toIntegers()[0];
                    if (prepared.counts->confusion) out.confusion.add(counted(*prepared.counts->confusion));
                }
                done += options.iterations;
                out.rows += options.iterations * size;
            }
        };
        if (m_plans.validation()) add(*m_plans.validation(), rows.whole(), rows.size);
        if (m_plans.lastValidation() && isWhole) add(*m_plans.lastValidation(), 1, rows.rest());
        if (!isWhole) return std::nullopt;
        if (isShared) sumValidations(out, correct, labels);
        out.loss /= static_cast<double>(out.rows);
        if (labels > 0) out.accuracy = static_cast<double>(correct) / static_cast<double>(labels);
        return out;
    }

    std::optional<double> learningRate() const {
        if (m_place.steps == 0) return std::nullopt;
        for (const NodeId id : m_plans.training().nodes) {
            const NodeFacts* facts = m_plans.analysis().find(id);
            if (!facts->op || facts->op->name != "LearningRate") continue;
            const Tensor steps = toHost(m_state.at(*facts->inputs[0]), m_plans.devices());
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
        for (const PortRef output : m_plans.batch().state) {
            const std::string name = nameOf(output.node);
            const auto saved = state.find(name);
            const TensorType& type = *m_plans.analysis().typeOf(output);
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
            restored[output] =
                toDevice(saved->second, m_plans.analysis().find(output.node)->device, m_plans.devices());
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
            if (!std::ranges::binary_search(m_plans.training().nodes, output.node) || isAverage(output.node))
                out[nameOf(output.node)] = ownCopy(tensor);
        return out;
    }

    const std::vector<std::uint64_t>& parameterHashes() const { return m_hashes; }
    const std::map<std::string, Tensor>& gradients() const { return m_gradients; }
    bool isModelled() const { return m_plans.batch().plan->virtualClock; }
    const Plan& plan() const { return *m_plans.batch().plan; }
    TrainingPlans& plans() { return m_plans; }
    const TrainingPlace& place() const { return m_place; }

private:
    /// Of the parameters (Optimizer::averageDecay).
    bool isAverage(NodeId source) const {
        return std::ranges::any_of(m_plans.graph().outgoing(source), [&](const Edge& edge) {
            return edge.to.port == 0 && m_plans.graph().find(edge.to.node)->op == "AverageUpdate";
        });
    }

    const std::string& nameOf(NodeId id) const { return m_plans.names().at(id); }

    /// Of the models of the devices that the plan uses.
    std::uint64_t devicesHash() const {
        ContentHash hash;
        for (const PlanStream& stream : m_plans.batch().plan->streams) {
            const DeviceInfo& info = m_plans.devices().at(stream.device).info();
            hash.add(info.name).add(std::uint64_t{info.simulated});
        }
        return hash.value();
    }

    /// The tensor on the host, not shared with a run that will change it.
    Tensor ownCopy(const Tensor& tensor) const {
        const Tensor host = toHost(tensor, m_plans.devices());
        Tensor own = Tensor::onHost(host.type());
        std::memcpy(own.data(), host.data(), static_cast<std::size_t>(host.type().byteCount()));
        return own;
    }

    /// Host copies of the trained parameters, without their averages. Empty before the first step.
    std::map<NodeId, Tensor> parametersNow() const {
        std::map<NodeId, Tensor> out;
        for (const auto& [parameter, gradient] : m_plans.measured()->gradients)
            if (const auto now = m_state.find({parameter, 0}); now != m_state.end())
                out.emplace(parameter, ownCopy(now->second));
        return out;
    }

    /// The figures of the step that made `result`.
    std::vector<ParameterFigures> measure(const RunResult& result, const std::map<NodeId, Tensor>& before) {
        std::vector<ParameterFigures> out;
        for (const auto& [parameter, output] : m_plans.measured()->gradients) {
            const Tensor gradient = toHost(*result.tensor(output), m_plans.devices());
            m_gradients[nameOf(parameter)] = gradient;
            const auto old = before.find(parameter);
            out.push_back(figuresOf(nameOf(parameter), gradient, old == before.end() ? nullptr : &old->second,
                                    toHost(m_state.at({parameter, 0}), m_plans.devices())));
        }
        return out;
    }

    std::int64_t ranks() const noexcept { return world().size(); }
    std::int64_t rank() const noexcept { return world().rank(); }

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
        const auto calls = [](const std::optional<TrainingPlan>& prepared) {
            return prepared && std::ranges::any_of(prepared->plan->steps, [&](const Step& step) {
                       return prepared->plan->isCollective(step);
                   });
        };
        return ranks() > 1 && !world().info().simulated && !calls(m_plans.validation()) &&
               !calls(m_plans.lastValidation());
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

    /// What the forward graph reads of the state.
    std::map<PortRef, Tensor> forwardState() const {
        std::map<PortRef, Tensor> out;
        for (const auto& [output, tensor] : m_state)
            if (!std::ranges::binary_search(m_plans.training().nodes, output.node)) out[output] = tensor;
        return out;
    }

    RunObserver* observerOf(const TrainingPlan& prepared) const {
        return m_plans.options().observe ? m_plans.options().observe(prepared.plan, prepared.part) : nullptr;
    }

    RunResult execute(const TrainingPlan& prepared, RunOptions& options, std::map<PortRef, Tensor> state,
                      RunObserver* observer) const {
        options.allowTf32 = m_plans.options().allowTf32;
        options.state = std::move(state);
        RunResult result = runToEnd(prepared.plan, options, observer);
        if (result.status == RunStatus::failed)
            throw Error(ErrorCode::failed,
                        result.errors.empty() ? "the run failed" : result.errors.front().message);
        return result;
    }

    std::vector<double> recorded(const RunResult& result, PortRef record, std::int64_t first) const {
        const Tensor values = toHost(*result.tensor(record), m_plans.devices());
        std::vector<double> out;
        for (std::int64_t i = 0; i < result.iterations; ++i)
            out.push_back(values.at((first + i) % kRecordedLosses));
        return out;
    }

    TrainingPlans m_plans;
    bool m_hasAgreed = false;            ///< all ranks have the same state and place
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
    return m_impl->plans().hasBatches() ? m_impl->plans().rows().count : 0;
}
bool Trainer::hasValidation() const noexcept { return m_impl->plans().hasValidation(); }
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
void Trainer::scaleRate(double factor) { m_impl->plans().scaleRate(factor); }
std::optional<double> Trainer::learningRate() const { return m_impl->learningRate(); }
const TrainingPlace& Trainer::place() const noexcept { return m_impl->place(); }
std::map<std::string, Tensor> Trainer::state() const { return m_impl->state(); }
void Trainer::restore(const TrainingPlace& place, const std::map<std::string, Tensor>& state,
                      const std::string& origin) {
    m_impl->restore(place, state, origin);
}
std::map<std::string, Tensor> Trainer::parameters() const { return m_impl->parameters(); }
const std::map<std::string, Tensor>& Trainer::gradients() const noexcept { return m_impl->gradients(); }
const std::map<NodeId, std::string>& Trainer::names() const noexcept { return m_impl->plans().names(); }

} // namespace twb
