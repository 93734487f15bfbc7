#include "app/commands.h"
#include "app/interrupts.h"
#include "app/placed_graph.h"
#include "app/ranks.h"
#include "app/settings.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "app/train_command.h"
#include "app/training_trace.h"
#include "backends/world.h"
#include "core/format.h"
#include "formats/checkpoint.h"
#include "formats/file_claims.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "formats/trained_graph.h"
#include "graph/rank_lanes.h"
#include "placement/analysis.h"
#include "profile/rank_report.h"
#include "runtime/joined_devices.h"
#include "runtime/same_devices.h"
#include "runtime/same_plan.h"
#include "training/mixed_precision.h"
#include "training/trainer.h"

#include <fmt/format.h>
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

std::string lineOf(const EpochRecord& epoch, std::int64_t epochs, bool isModelled) {
    std::string line = fmt::format("epoch {}/{}  loss {}", epoch.epoch, epochs, formatNumber(epoch.loss));
    if (epoch.validationLoss)
        line += fmt::format("  validation loss {}", formatNumber(*epoch.validationLoss));
    if (epoch.accuracy) line += fmt::format("  validation accuracy {:.2f} %", 100 * *epoch.accuracy);
    if (epoch.rate) line += fmt::format("  lr {}", formatNumber(*epoch.rate, 4));
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
                                 formatNumber(*bad), before + (bad - losses.begin()) + 1));
    }

    void showProgress() {
        if (m_command.quiet || !stderrIsTerminal()) return;
        const TrainingPlace& place = m_trainer.place();
        const TrainingRecord& record = m_session.record();
        fmt::print(
            stderr, "\r\x1b[Kepoch {}/{}  batch {}/{}  loss {}", place.epoch + 1, m_command.epochs,
            place.batch, m_trainer.batchesPerEpoch(),
            formatNumber(record.rows > 0 ? record.rowLoss / static_cast<double>(record.rows) : 0.0, 4));
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
    if (!ranks.isAlone() && dividesNodes(graph))
        throw Error(
            ErrorCode::badGraph,
            fmt::format("{} has lanes of other ranks, which divide its nodes, but a training on several "
                        "ranks computes the whole graph on each; train it in one process, or set the "
                        "lanes to devices without a rank",
                        command.file));
    const Policy policy = command.placement.policyFor(graph);
    DeviceMap devices = command.placement.devicesFor(graph);
    devices.setWorld(ranks.world());
    requireSameDevices(graph, devices);
    const JoinedDevices joined(graph, devices);
    const bool isFirst = ranks.isFirst();
    if (!command.quiet)
        for (const auto& remarks : {command.placement.remarks(graph), joined.remarks()})
            for (const std::string& remark : remarks) printMessage("warning: " + remark);
    const std::shared_ptr<const TensorFiles> files = makeProjectFiles(folder, command.allowOutside);
    graph = trainingGraph(command, devices, policy, *files, std::move(graph));
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
            const std::string why = ranks.whyFailed();
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
    } catch (const DifferentPlans& error) {
        return ranks.endTogether(error);
    } catch (const Error& error) {
        return ranks.end(error);
    }
}

} // namespace

void addTrainCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<TrainCommand>();
    CLI::App* command = app.add_subcommand("train", "Train the parameters of a graph, with a line per epoch");
    options->addTo(*command);
    command->callback([options, &exit] { exit = trainOnRanks(*options); });
}

} // namespace twb
