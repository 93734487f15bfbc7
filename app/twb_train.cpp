#include "app/commands.h"
#include "app/interrupts.h"
#include "app/placed_graph.h"
#include "app/placement_options.h"
#include "app/ranks.h"
#include "app/settings.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "app/training_trace.h"
#include "backends/world.h"
#include "formats/checkpoint.h"
#include "formats/file_claims.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "formats/trained_graph.h"
#include "ops/batch_rows.h"
#include "placement/analysis.h"
#include "profile/rank_report.h"
#include "runtime/joined_devices.h"
#include "runtime/same_plan.h"
#include "training/mixed_precision.h"
#include "training/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct TrainCommand {
    std::string file;
    std::int64_t epochs = 10;
    std::optional<std::int64_t> batch;
    std::string loss;
    std::vector<std::string> parameters;
    std::string optimizer;
    std::optional<double> rate;
    std::optional<double> momentum;
    std::optional<double> weightDecay;
    bool nesterov = false;
    std::string schedule;
    std::optional<std::int64_t> warmup;
    std::optional<double> clipNorm, clipValue;
    std::optional<double> averageDecay;
    std::string amp;
    std::string validation;
    std::string validationLabels;
    std::optional<std::int64_t> seed;
    std::string checkpoints;
    std::int64_t every = 0;
    int keep = 3;
    bool resume = false;
    std::string stopOn;
    std::int64_t patience = 5;
    std::string report;
    std::string trace;
    std::string weights;
    std::string output;
    std::string graph;
    std::vector<std::string> sets;
    PlacementOptions placement;
    RankOptions ranks;
    bool allowOutside = false;
    bool allowTf32 = false;
    bool syncBatchNorm = false;
    bool quiet = false;

    /// Whether an option asks for a training module other than the one in the file.
    bool describesTraining() const {
        return !loss.empty() || !parameters.empty() || !optimizer.empty() || momentum || weightDecay ||
               nesterov || !schedule.empty() || warmup || clipNorm || clipValue || averageDecay;
    }
};

/// Without Batches, an epoch has the iterations of the graph.
std::int64_t batchesPerEpoch(const Graph& graph, const TensorFiles& files) {
    for (const Node& node : graph.nodes())
        if (node.op == "Batches")
            return trainingRows(completeAttributes(*findOp(node.op), node.attributes), files).batches();
    return graph.info().iterations;
}

Optimizer optimizerOf(const TrainCommand& command, const Graph& graph, const TensorFiles& files) {
    Optimizer out;
    out.op = optimizerOp(command.optimizer.empty() ? "adamw" : command.optimizer);
    const Op& op = *findOp(out.op);
    const auto set = [&](const char* option, const char* name, AttributeValue value) {
        if (!op.attribute(name))
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("{}: the optimizer {} has no such setting; choose another with --optimizer",
                            option, command.optimizer.empty() ? "adamw (the default)" : command.optimizer));
        out.attributes.set(name, std::move(value));
    };
    if (command.momentum) set("--momentum", "momentum", *command.momentum);
    if (command.weightDecay) set("--weight-decay", "weight_decay", *command.weightDecay);
    if (command.nesterov) set("--nesterov", "nesterov", true);
    const double rate = command.rate.value_or(std::get<double>(*op.attribute("lr")->defaultValue));
    out.rate.set("lr", rate);
    const bool isConstant = command.schedule.empty() || command.schedule == "plateau";
    const std::int64_t warmup = command.warmup.value_or(0);
    setSchedule(out.rate, isConstant ? "constant" : command.schedule,
                batchesPerEpoch(graph, files) * command.epochs - warmup, warmup);
    out.clipNorm = command.clipNorm.value_or(0);
    out.clipValue = command.clipValue.value_or(0);
    out.averageDecay = command.averageDecay.value_or(0);
    return out;
}

/// Sets the batch size, the seeds and the learning rate.
void applyNumbers(Graph& graph, const TrainCommand& command) {
    DeltaBuilder builder(graph, {});
    std::int64_t count = 0;
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (!op) continue;
        if (command.batch && node.op == "Batches")
            builder.setAttribute(node.id, "batch_size", *command.batch);
        if (command.rate && node.op == "LearningRate") builder.setAttribute(node.id, "lr", *command.rate);
        const bool isRandom = op->attribute("seed") && node.op != "Input";
        if (command.seed && isRandom) {
            constexpr std::int64_t distance = 1000003; // between the seeds of two nodes of a run
            builder.setAttribute(node.id, "seed", *command.seed + distance * count++);
        }
    }
    graph.apply(builder.take());
}

/// The graph that learns, with the options applied.
Graph prepare(const TrainCommand& command, const DeviceMap& devices, Policy policy, const TensorFiles& files,
              Graph graph) {
    applyNumbers(graph, command);
    const std::optional<Training> before = trainingOf(graph);
    if (before && !command.describesTraining()) {
        if (command.batch || !command.sets.empty()) graph.apply(remakeBackward(graph, devices, &files));
        return graph;
    }
    NodeId loss = before ? before->loss : NodeId::none;
    if (before) graph.apply(removeTraining(graph));
    if (!command.loss.empty()) loss = nodeNamed(graph, command.loss, "--loss").id;
    if (loss == NodeId::none)
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("{}: the graph has no training module: name the loss node with --loss, or choose "
                        "Graph ▸ Training ▸ Add training in the window",
                        command.file));
    const Analysis analysis = analyze(graph, devices, policy, &files);
    if (analysis.hasErrors()) throw Error(ErrorCode::badGraph, analysis.diagnostics.front().message);
    std::vector<NodeId> parameters;
    for (const std::string& name : command.parameters)
        parameters.push_back(nodeNamed(graph, name, "--parameters").id);
    if (parameters.empty()) parameters = parametersOf(graph, analysis, loss);
    graph.apply(makeTraining(graph, devices, &files, loss, parameters, optimizerOf(command, graph, files)));
    return graph;
}

std::string lineOf(const EpochRecord& epoch, std::int64_t epochs, bool isModelled) {
    std::string line = fmt::format("epoch {}/{}  loss {:.6g}", epoch.epoch, epochs, epoch.loss);
    if (epoch.validationLoss) line += fmt::format("  validation loss {:.6g}", *epoch.validationLoss);
    if (epoch.accuracy) line += fmt::format("  validation accuracy {:.2f} %", 100 * *epoch.accuracy);
    if (epoch.rate) line += fmt::format("  lr {:.4g}", *epoch.rate);
    const double perSecond = epoch.seconds > 0 ? static_cast<double>(epoch.rows) / epoch.seconds : 0;
    if (epoch.rows > 0) line += fmt::format("  {:.0f} samples/s", perSecond);
    constexpr double noticeable = 0.2; // share of the time
    if (epoch.dataWait > noticeable * epoch.seconds)
        line += fmt::format("  waits for data {:.0f} % of the time", 100 * epoch.dataWait / epoch.seconds);
    return line + fmt::format("  {:.3g} s{}\n", epoch.seconds, isModelled ? " (modelled)" : "");
}

Metric metricNamed(const std::string& name) {
    if (name == "accuracy") return Metric::accuracy;
    return name == "loss" ? Metric::loss : Metric::validationLoss;
}

/// The key of the metric in an epoch of the report.
const char* keyOf(Metric metric) {
    return metric == Metric::loss ? "loss" : metric == Metric::accuracy ? "accuracy" : "validation_loss";
}

Json toJson(const TrainCommand& command, const TrainingRecord& record, const std::vector<double>& losses,
            Metric metric, const char* status, bool isModelled) {
    Json json{{"schema", 1},
              {"file", command.file},
              {"status", status},
              {"modelled", isModelled},
              {"epochs", Json::array()}};
    for (const EpochRecord& epoch : record.epochs) json["epochs"].push_back(toJson(epoch));
    json["losses"] = losses;
    if (record.confusion.classes > 0) json["confusion"] = toJson(record.confusion);
    if (record.epochs.empty()) return json;
    const EpochRecord& best = *bestEpoch(record, metric);
    json["best"] = {{"epoch", best.epoch}, {"metric", keyOf(metric)}};
    if (const std::optional<double> value = valueOf(best, metric)) json["best"]["value"] = *value;
    return json;
}

void writeReport(const TrainCommand& command, const Json& json) {
    writeFileAtomically(command.report, jsonText(json));
}

/// Writes the report of a failed training on several ranks.
void writeFailure(const TrainCommand& command, Json json, const std::string& sentence) {
    if (command.report.empty()) return;
    json["error"] = sentence;
    writeReport(command, json);
}

/// Shows a training run, saves it, and ends it on Ctrl-C.
class Loop {
public:
    Loop(const TrainCommand& command, Trainer& trainer, TrainingSession& session, Interrupts& interrupts)
        : m_command(command), m_trainer(trainer), m_session(session), m_interrupts(interrupts),
          m_saves(!command.checkpoints.empty() && trainer.world().rank() == 0) {}

    /// Of each step of this process.
    const std::vector<double>& losses() const noexcept { return m_losses; }

    /// False if it was cancelled.
    bool run() {
        while (!m_session.isDone()) {
            const std::int64_t before = m_trainer.place().steps;
            const std::int64_t every = m_command.every;
            const TrainedSteps steps = m_session.advance(
                every > 0 ? every - before % every : std::numeric_limits<std::int64_t>::max());
            m_losses.insert(m_losses.end(), steps.losses.begin(), steps.losses.end());
            warnOfNan(before, steps.losses);
            if (steps.endsEpoch) showEpoch();
            const bool isDue = every > 0 ? m_trainer.place().steps % every == 0 : steps.endsEpoch;
            if (m_saves && isDue) save();
            showProgress();
            if (!isInterrupted()) continue;
            clearProgress();
            if (m_saves) save();
            return false;
        }
        clearProgress();
        const EpochRecord* best = bestEpoch(m_session.record(), m_session.metric());
        if (m_trainer.place().epoch < m_command.epochs && best && !m_command.quiet)
            printMessage(fmt::format("stopped early: the {} has not improved since epoch {}",
                                     name(m_session.metric()), best->epoch));
        return true;
    }

private:
    /// Whether to stop after this step. An interrupt of one rank stops all ranks after the same step.
    bool isInterrupted() {
        std::int64_t is = m_interrupts.wait(0) == Interrupts::Event::interrupted ? 1 : 0;
        World& world = m_trainer.world();
        if (world.size() > 1 && !world.info().simulated)
            world.run({CollectiveKind::allReduce, Reduction::max, DType::i64, &is, &is, 1, 0, "interrupts"});
        return is != 0;
    }

    void save() {
        saveCheckpoint(m_command.checkpoints, {m_trainer.place(), m_session.record(), m_trainer.state()},
                       m_command.keep);
    }

    void showEpoch() {
        clearProgress();
        if (m_command.quiet) return;
        printResult(lineOf(m_session.record().epochs.back(), m_command.epochs, m_trainer.isModelled()));
        std::fflush(stdout);
    }

    void warnOfNan(std::int64_t before, const std::vector<double>& losses) {
        const auto bad = std::ranges::find_if(losses, [](double loss) { return !std::isfinite(loss); });
        if (bad == losses.end() || std::exchange(m_isWarned, true)) return;
        clearProgress();
        printMessage(fmt::format("warning: the loss is {} in step {}: look for NaN in the data, or lower the "
                                 "learning rate",
                                 *bad, before + (bad - losses.begin()) + 1));
    }

    void showProgress() {
        if (m_command.quiet || !stderrIsTerminal()) return;
        const TrainingPlace& place = m_trainer.place();
        const TrainingRecord& record = m_session.record();
        fmt::print(stderr, "\r\x1b[Kepoch {}/{}  batch {}/{}  loss {:.4g}", place.epoch + 1, m_command.epochs,
                   place.batch, m_trainer.batchesPerEpoch(),
                   record.rows > 0 ? record.rowLoss / static_cast<double>(record.rows) : 0.0);
        std::fflush(stderr);
        m_isShown = true;
    }
    void clearProgress() {
        if (std::exchange(m_isShown, false)) fmt::print(stderr, "\r\x1b[K");
    }

    const TrainCommand& m_command;
    Trainer& m_trainer;
    TrainingSession& m_session;
    Interrupts& m_interrupts;
    std::vector<double> m_losses;
    const bool m_saves; ///< rank 0 writes checkpoints
    bool m_isShown = false;
    bool m_isWarned = false;
};

FileClaims claimsOf(const TrainCommand& command) {
    FileClaims claims;
    claims.read(command.file, "the project");
    command.placement.claim(claims);
    if (!command.report.empty()) claims.write(command.report, "--report");
    if (!command.trace.empty()) claims.write(command.trace, "--trace");
    if (!command.weights.empty()) claims.write(command.weights, "--export-weights");
    if (!command.output.empty()) {
        claims.write(command.output, "--output", FileClaims::Content::project);
        claims.write(weightsOf(command.output), "the weights of --output");
    }
    if (!command.graph.empty()) claims.write(command.graph, "--save-graph", FileClaims::Content::project);
    return claims;
}

/// The files that a project reads are found from its folder, which may be another than that of the training.
void warnOfMissingFiles(const std::string& project) {
    const Graph graph = loadProject(project);
    const fs::path folder = fs::absolute(project).parent_path();
    std::set<std::string> missing;
    for (const GraphFile& named : filesNamedBy(graph)) {
        const std::string file = splitTensorPath(named.path).file;
        std::error_code failed;
        if (!named.isWritten && !fs::exists(folder / file, failed)) missing.insert(file);
    }
    for (const std::string& file : missing)
        printMessage(
            fmt::format("warning: {} reads {}, which is not in its folder: copy the file into this folder",
                        project, file));
}

/// What a training had done before this process continued it. Only rank 0 reads it from the checkpoint.
struct Before {
    std::int64_t steps = 0;
    std::size_t epochs = 0;
    double seconds = 0; ///< of the epoch that was not complete
    std::int64_t rows = 0;
};

/// Of this rank in this process. Its part of the rows is as large as that of the others.
RankPace paceOf(const TrainingRecord& record, const Before& before, const Trainer& trainer) {
    RankPace out;
    if (record.epochs.size() <= before.epochs) return out;
    out.iterations = static_cast<double>(trainer.place().steps - before.steps);
    double seconds = -before.seconds;
    double rows = 0;
    for (std::size_t i = before.epochs; i < record.epochs.size(); ++i) {
        seconds += record.epochs[i].seconds;
        rows += static_cast<double>(record.epochs[i].rows);
    }
    const auto steps = static_cast<double>(record.epochs.back().steps - before.steps);
    if (steps > 0) out.iterationNs = seconds / steps * 1e9;
    rows -= static_cast<double>(before.rows);
    if (seconds > 0 && rows > 0) out.samplesPerSecond = rows / trainer.world().size() / seconds;
    return out;
}

/// Of all ranks, which must call it together.
void writeTrace(const TrainCommand& command, const TrainingTrace& trace,
                const std::optional<RankReport>& report, const Ranks& ranks) {
    if (command.trace.empty()) return;
    if (!trace.recorder()) {
        printMessage("warning: --trace writes no file, because the training has run no step");
        return;
    }
    std::ostringstream text;
    if (report)
        trace.recorder()->writeTogether(text, *ranks.world(), trace.startedNs(), report->ranks);
    else
        trace.recorder()->write(text);
    if (ranks.isFirst()) writeFileAtomically(command.trace, text.view());
}

ExitCode train(const TrainCommand& command, const Ranks& ranks) {
    FileClaims claims = claimsOf(command);
    const fs::path folder = fs::absolute(command.file).parent_path();
    Graph graph = loadProject(command.file);
    if (!command.quiet && ranks.isFirst()) tellOfModules(graph, command.file);
    const std::vector<Setting> settings = parseSettings(command.sets);
    applySettings(graph, settings);
    claims.readGraph(graph, folder);
    const Policy policy = command.placement.policyFor(graph);
    DeviceMap devices = command.placement.devicesFor(graph);
    devices.setWorld(ranks.world());
    const JoinedDevices joined(graph, devices);
    const bool isFirst = ranks.isFirst();
    if (!command.quiet)
        for (const auto& remarks : {command.placement.remarks(graph), joined.remarks()})
            for (const std::string& remark : remarks) printMessage("warning: " + remark);
    const std::shared_ptr<const TensorFiles> files = makeProjectFiles(folder, command.allowOutside);
    graph = prepare(command, devices, policy, *files, std::move(graph));
    if (!command.amp.empty())
        graph.apply(makeMixedPrecision(graph, devices, files.get(), trainingOf(graph).value().loss,
                                       command.amp == "f16" ? DType::f16 : DType::bf16));

    if (!command.graph.empty()) {
        if (isFirst) saveProject(graph, command.graph);
        return ExitCode::fine;
    }

    TrainerOptions options;
    options.policy = policy;
    options.allowTf32 = command.allowTf32;
    options.validationData = command.validation;
    options.validationLabels = command.validationLabels;
    options.measures = !command.report.empty();
    options.syncBatchNorm = command.syncBatchNorm;
    TrainingTrace trace;
    if (!command.trace.empty())
        options.observe = [&](const std::shared_ptr<const Plan>& plan, TrainingPart part) {
            return trace.observe(plan, part);
        };
    Trainer trainer(graph, devices, files, options);
    TrainingRecord record;
    if (!isFirst) {
        // Rank 0 reads the checkpoint, and the others take over its state.
    } else if (command.resume) {
        Checkpoint checkpoint = loadCheckpoint(command.checkpoints);
        record = std::move(checkpoint.record);
        trainer.restore(checkpoint.place, checkpoint.state, command.checkpoints);
        if (!command.quiet)
            printMessage(fmt::format("resumed from epoch {}, step {}", checkpoint.place.epoch + 1,
                                     checkpoint.place.steps));
    } else if (!command.checkpoints.empty() && hasCheckpoint(command.checkpoints)) {
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("{} has a checkpoint already: continue it with --resume, or name another folder",
                        command.checkpoints));
    }
    if (!trainer.hasValidation() && !command.stopOn.empty() && command.stopOn != "loss")
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("--early-stop {}: the training has no validation rows; set the attribute validation "
                        "of the Batches node, or give --val",
                        command.stopOn));
    if (command.resume && trainer.place().epoch >= command.epochs && !command.quiet)
        printMessage(fmt::format("the training run has finished its {} epochs; raise --epochs to continue",
                                 command.epochs));
    SessionOptions sessionOptions;
    sessionOptions.epochs = command.epochs;
    if (!command.stopOn.empty()) sessionOptions.metric = metricNamed(command.stopOn);
    sessionOptions.stopsEarly = !command.stopOn.empty();
    sessionOptions.patience = command.patience;
    sessionOptions.lowersRate = command.schedule == "plateau";
    Before before{0, record.epochs.size(), record.seconds, record.rows};
    TrainingSession session(trainer, sessionOptions, std::move(record));
    before.steps = trainer.place().steps; // all ranks have that of rank 0 by now
    Interrupts interrupts;
    Loop loop(command, trainer, session, interrupts);
    const auto reportOf = [&](const char* status) {
        return toJson(command, session.record(), loop.losses(), session.metric(), status,
                      trainer.isModelled());
    };
    bool isFinished = false;
    try {
        isFinished = loop.run();
    } catch (const Error& error) {
        if (!ranks.isAlone() && isFirst) {
            const std::string why = ranks.world()->abortSentence();
            writeFailure(command, reportOf("failed"), why.empty() ? error.what() : why);
        }
        throw;
    }
    // The results come first: whatever else fails, they are not lost.
    if (isFinished && isFirst && !command.weights.empty()) saveWeights(command.weights, trainer.parameters());
    if (isFinished && isFirst && !command.output.empty()) {
        saveTrained(command.output, graph, trainer.parameters(), trainer.names());
        warnOfMissingFiles(command.output);
    }
    std::optional<RankReport> rankReport;
    if (!ranks.isAlone() && !(command.report.empty() && command.trace.empty()))
        rankReport = reportRanks(*ranks.world(), paceOf(session.record(), before, trainer), trainer.plan());
    writeTrace(command, trace, rankReport, ranks);
    if (!command.report.empty()) {
        Json json = reportOf(isFinished ? "finished" : "cancelled");
        if (rankReport) json["ranks"] = twb::toJson(*rankReport);
        for (const std::uint64_t hash : trainer.parameterHashes())
            json["ranks"]["parameter_hashes"].push_back(fmt::format("{:016x}", hash));
        if (isFirst) writeReport(command, json);
    }
    if (!isFinished) {
        printMessage(
            command.checkpoints.empty()
                ? command.file + ": cancelled"
                : fmt::format("{}: cancelled; continue with --checkpoint DIR --resume", command.file));
        return ExitCode::cancelled;
    }
    return ExitCode::fine;
}

ExitCode trainOnRanks(const TrainCommand& command) {
    Ranks ranks(command.ranks, command.file, [&](const std::string& sentence) {
        writeFailure(command, toJson(command, {}, {}, Metric::loss, "failed", false), sentence);
    });
    try {
        return train(command, ranks);
    } catch (const DifferentPlans&) {
        throw; // on all ranks
    } catch (const Error& error) {
        return ranks.end(error);
    }
}

} // namespace

void addTrainCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<TrainCommand>();
    CLI::App* command = app.add_subcommand("train", "Train the parameters of a graph, with a line per epoch");
    command->add_option("FILE", options->file, "Project file (.twb)")->required();
    std::vector<std::string_view> optimizers;
    for (const OptimizerName& optimizer : optimizerNames()) optimizers.push_back(optimizer.name);
    command
        ->add_option("--epochs", options->epochs, "Epochs in total, with those before --resume; default: 10")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
    command->add_option("--batch", options->batch, "Rows per batch; default: those of the Batches nodes")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command->add_option("--loss", options->loss, "The loss node, if the graph has no training module")
        ->type_name("NODE");
    command
        ->add_option("--parameters", options->parameters,
                     "Source nodes to train; default: all Parameter nodes before the loss or, without any, "
                     "its weights")
        ->type_name("NODE,…")
        ->delimiter(',');
    command->add_option("--optimizer", options->optimizer, "Rule that updates the parameters; default: adamw")
        ->type_name(fmt::format("NAME:{{{}}}", fmt::join(optimizers, ",")));
    command
        ->add_option("--lr", options->rate,
                     "Learning rate; default: the file's, else 0.01 for sgd, rmsprop and adagrad, 0.001 for "
                     "adam and adamw, 0.0001 for lion")
        ->type_name("R");
    command->add_option("--momentum", options->momentum, "Momentum of sgd or rmsprop")->type_name("M");
    command->add_option("--weight-decay", options->weightDecay, "Weight decay")->type_name("W");
    command->add_flag("--nesterov", options->nesterov, "Nesterov momentum of sgd; needs --momentum");
    command->add_option("--schedule", options->schedule, "Schedule of the learning rate")
        ->type_name("NAME")
        ->check(CLI::IsMember({"constant", "step", "exponential", "cosine", "one_cycle", "plateau"}));
    command->add_option("--warmup", options->warmup, "Steps of linear warm-up")->type_name("N");
    command->add_option("--clip-norm", options->clipNorm, "Largest norm of all gradients together")
        ->type_name("X");
    command
        ->add_option("--clip-value", options->clipValue,
                     "Largest absolute value of each element of a gradient; applied before --clip-norm")
        ->type_name("X")
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--ema", options->averageDecay,
                     "Also keep a moving average of the parameters, with this decay; --export-weights writes "
                     "it as a tensor \"NAME average\"")
        ->type_name("D");
    command
        ->add_option(
            "--amp", options->amp,
            "Mixed precision: compute matrix products and convolutions in bf16, or in f16 with a loss "
            "scale")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"bf16", "f16"}));
    CLI::Option* validation = command->add_option(
        "--val", options->validation, "Validation data; default: the rows that Batches holds out");
    validation->type_name("FILE");
    command->add_option("--val-labels", options->validationLabels, "Labels of the rows of --val")
        ->type_name("FILE")
        ->needs(validation);
    command
        ->add_option("--seed", options->seed,
                     "Seed of all random nodes: parameters, row order, validation split, Dropout")
        ->type_name("S");
    CLI::Option* checkpoints =
        command->add_option("--checkpoint", options->checkpoints, "Folder for checkpoints")->type_name("DIR");
    command->add_option("--every", options->every, "Steps between two checkpoints; default: an epoch")
        ->type_name("N")
        ->needs(checkpoints);
    command->add_option("--keep", options->keep, "Checkpoints to keep; --resume uses the newest; default: 3")
        ->type_name("K")
        ->needs(checkpoints);
    command->add_flag("--resume", options->resume, "Continue from the last checkpoint")->needs(checkpoints);
    command
        ->add_option("--early-stop", options->stopOn,
                     "Stop when this metric has not improved for --patience epochs")
        ->type_name("METRIC")
        ->check(CLI::IsMember({"loss", "validation-loss", "accuracy"}));
    command
        ->add_option("--patience", options->patience,
                     "Epochs without improvement before --early-stop ends the training; default: 5")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--report", options->report,
                     "Write the figures of each epoch, the loss of each step, and a classifier's confusion "
                     "matrix as JSON")
        ->type_name("R.json");
    command
        ->add_option("--trace", options->trace,
                     "Write a Chrome trace of all steps and validations, for ui.perfetto.dev; on several "
                     "ranks, of all ranks on one clock")
        ->type_name("FILE.json");
    command->add_option("--export-weights", options->weights, "Write the trained parameters")
        ->type_name("W.safetensors");
    command
        ->add_option("-o,--output", options->output,
                     "Write the graph with the trained weights, without backward pass and optimizer")
        ->type_name("OUT.twb");
    CLI::Option* saved = command->add_option("--save-graph", options->graph,
                                             "Write the graph with its training, and do not run it");
    saved->type_name("OUT.twb");
    command->add_option("--set", options->sets, "Set an attribute for this training")
        ->type_name("NODE.ATTRIBUTE=VALUE")
        ->take_all()
        ->allow_extra_args(false);
    options->placement.addTo(*command, true);
    options->ranks.addTo(*command);
    command
        ->add_flag("--sync-batch-norm", options->syncBatchNorm,
                   "On several ranks, normalize by the mean and variance over the rows of all ranks, as "
                   "torch.nn.SyncBatchNorm does; default: each rank by those of its own rows")
        ->excludes(saved);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--allow-tf32", options->allowTf32,
                      "Allow TF32 for f32 matmul and convolution on a real GPU");
    command->add_flag("--quiet", options->quiet, "Do not print a line per epoch");
    command->callback([options, &exit] { exit = trainOnRanks(*options); });
}

} // namespace twb
