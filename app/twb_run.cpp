#include "app/command_line_files.h"
#include "app/commands.h"
#include "app/junit.h"
#include "app/placed_graph.h"
#include "app/placement_options.h"
#include "app/ranks.h"
#include "app/remote_watch.h"
#include "app/run_watch.h"
#include "app/settings.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "formats/file_claims.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/remote_run.h"
#include "formats/tensor_archive.h"
#include "graph/rank_lanes.h"
#include "ops/plugins/plugins.h"
#include "ops/plugins/project_plugins.h"
#include "placement/analysis.h"
#include "placement/device_rule.h"
#include "profile/rank_report.h"
#include "profile/run_events.h"
#include "runtime/joined_devices.h"
#include "runtime/plan.h"
#include "runtime/rank_part.h"
#include "runtime/same_devices.h"
#include "runtime/same_plan.h"
#include "training/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

namespace twb {
namespace {

namespace fs = std::filesystem;

struct RunCommand {
    std::string file;
    std::optional<std::int64_t> iterations;
    std::vector<std::string> sets;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    PlacementOptions placement;
    RankOptions ranks;
    std::string on;
    int ranksThere = 1;
    std::string report;
    std::string trace;
    std::string events;
    bool allowOutside = false;
    bool allowTf32 = false;
    bool noFusion = false;
    bool noCudaGraphs = false;
    bool failOnNan = false;
    bool quiet = false;
    std::string junit;
};

/// A tensor to write after the run.
struct WantedOutput {
    NamedFile file;
    PortRef port;
};

/// A node's first output; for a sink, its input.
PortRef tensorOf(const Graph& graph, const Node& node, const char* option) {
    const Op* op = findOp(node.op);
    if (!op || !op->outputs.empty()) return {node.id, 0};
    if (const auto source = graph.sourceOf({node.id, 0})) return *source;
    throw Error(
        ErrorCode::invalidArgument,
        fmt::format("{} {}: {} has no output, and nothing is connected to it", option, node.name, node.op));
}

std::vector<WantedOutput> wantedOutputs(const Graph& graph, std::vector<NamedFile> files) {
    std::vector<WantedOutput> out;
    for (NamedFile& file : files) {
        const PortRef port =
            tensorOf(graph, nodeNamed(graph, file.node, "--output " + file.node), "--output");
        out.push_back({std::move(file), port});
    }
    return out;
}

/// The graph's probes with their sources.
std::vector<std::pair<std::string, PortRef>> probesOf(const Graph& graph) {
    std::vector<std::pair<std::string, PortRef>> out;
    for (const Node& node : graph.nodes()) {
        if (node.op != "Probe") continue;
        if (const auto source = graph.sourceOf({node.id, 0}))
            out.emplace_back(labelOf(graph, node.id), *source);
    }
    return out;
}

bool hasRealGpu(const Plan& plan) {
    return std::any_of(plan.streams.begin(), plan.streams.end(), [&](const PlanStream& stream) {
        return stream.device.isCuda() && !plan.devices.isSimulated(stream.device);
    });
}

void printDiagnostics(const Analysis& analysis, bool warnings) {
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error || (warnings && d.severity == Severity::warning))
            fmt::print(stderr, "{}[{}]: {}", name(d.severity), d.code, toText(d));
}

ExitCode exitCodeOf(const RunResult& result) {
    switch (result.status) {
    case RunStatus::finished:
        return ExitCode::fine;
    case RunStatus::cancelled:
        return ExitCode::cancelled;
    case RunStatus::failed:
        break;
    }
    return ExitCode::runFailed;
}

/// Writes the requested tensors. A tensor that the run did not compute is an error.
void writeOutputs(const std::vector<WantedOutput>& outputs, const RunResult& result, const Plan& plan) {
    for (const WantedOutput& output : outputs) {
        const Tensor* tensor = result.tensor(output.port);
        if (!tensor)
            throw Error(
                ErrorCode::failed,
                fmt::format(
                    "--output {}: the run has no tensor of this node; it may be disabled, have an error, "
                    "or be in a body of an If, Loop or Scan: enable it, or name another node",
                    output.file.node));
        writeTensor(splitTensorPath(output.file.path.string()), toHost(*tensor, plan.devices).view());
    }
}

/// The trace has all ranks if all of them have finished.
void writeTrace(const RunCommand& command, const RunReport& report, const RunWatch& watch,
                const Ranks& ranks) {
    if (command.trace.empty()) return;
    std::ostringstream text;
    if (report.ranks)
        watch.trace()->writeTogether(text, *ranks.world(), watch.startedNs(), report.ranks->ranks);
    else
        watch.trace()->write(text);
    if (ranks.isFirst()) writeFileAtomically(command.trace, text.view());
}

/// Of a graph whose nodes are divided among the ranks: each rank writes the tensors of its nodes, in turn,
/// because two may be in one file.
void writeInTurn(const std::vector<WantedOutput>& outputs, const RunResult& result, const Plan& plan,
                 World& world) {
    for (int rank = 0; rank < world.size(); ++rank) {
        if (rank == world.rank()) writeOutputs(outputs, result, plan);
        Collective turn;
        turn.label = "outputs";
        world.run(turn);
    }
}

/// Of this rank.
RankPace paceOf(const RunWatch& watch, const Plan& plan) {
    RankPace out;
    out.iterationNs = watch.timeline().iterations().quantile(0.5);
    out.iterations = static_cast<double>(watch.result().iterations);
    if (out.iterationNs > 0) out.samplesPerSecond = rowsOfBatch(plan) / out.iterationNs * 1e9;
    return out;
}

/// Claims the files named on the command line. The graph's own files are claimed after it is read.
FileClaims claimsOf(const RunCommand& command, const std::vector<NamedFile>& inputs,
                    const std::vector<NamedFile>& outputs) {
    FileClaims claims;
    claims.read(command.file, "the project");
    command.placement.claim(claims);
    for (const NamedFile& input : inputs) claims.read(input.path, "--input " + input.node);
    if (!command.report.empty()) claims.write(command.report, "--report");
    if (!command.trace.empty()) claims.write(command.trace, "--trace");
    if (!command.events.empty()) claims.write(command.events, "--events");
    if (!command.junit.empty()) claims.write(command.junit, "--junit");
    for (const NamedFile& output : outputs) claims.write(output.path, "--output " + output.node);
    return claims;
}

/// `outcome` receives the run as a test case.
ExitCode run(const RunCommand& command, const Ranks& ranks, JunitCase& outcome) {
    std::vector<NamedFile> inputs;
    for (const std::string& text : command.inputs) inputs.push_back(parseNamedFile(text, "--input"));
    std::vector<NamedFile> outputFiles;
    for (const std::string& text : command.outputs) outputFiles.push_back(parseNamedFile(text, "--output"));
    FileClaims claims = claimsOf(command, inputs, outputFiles);
    const std::vector<Setting> settings = parseSettings(command.sets);

    const fs::path folder = fs::absolute(command.file).parent_path();
    Graph graph = loadProject(command.file);
    if (!command.quiet && ranks.isFirst()) tellOfModules(graph, command.file);
    replaceSources(graph, inputs);
    applySettings(graph, settings);
    claims.readGraph(graph, folder);
    std::vector<WantedOutput> outputs = wantedOutputs(graph, std::move(outputFiles));
    const auto probes = probesOf(graph);

    const Policy policy = command.placement.policyFor(graph);
    World& world = *ranks.world();
    requireRanks(graph, world);
    std::vector<std::string> remarks = command.placement.remarks(graph);
    // Alone or in a simulated world, this process runs all parts of a divided graph.
    const bool isPart = dividesNodes(graph) && world.size() > 1 && !world.info().simulated;
    const int seenBy = isPart ? world.rank() : 0;
    std::optional<JoinedDevices> joined;
    DeviceMap devices;
    if (isPart) {
        graph = asSeenBy(seenBy, graph);
        devices = command.placement.devicesForPart(graph, seenBy);
        devices.setWorld(ranks.world());
        const std::vector<std::string> notes = requireSameDevices(graph, devices, seenBy);
        if (!command.quiet && ranks.isFirst())
            for (const std::string& note : notes) printMessage("note: " + note);
        std::erase_if(outputs, [&](const WantedOutput& output) {
            return graph.deviceOf(*graph.find(output.port.node)).rank != 0;
        });
    } else {
        devices = command.placement.devicesFor(graph);
        devices.setWorld(ranks.world());
        requireSameDevices(graph, devices);
        joined.emplace(graph, devices);
        std::ranges::copy(joined->remarks(), std::back_inserter(remarks));
    }
    if (!command.quiet)
        for (const std::string& remark : remarks) printMessage("warning: " + remark);
    const auto files =
        std::make_shared<CommandLineFiles>(makeProjectFiles(folder, command.allowOutside), inputs);
    averageOverRanks(graph, devices, files.get());
    Analysis analysis = analyze(graph, devices, policy, files.get());
    printDiagnostics(analysis, !command.quiet);
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error) outcome.detail += toText(d);
    if (!analysis.mayRun()) {
        outcome.outcome = JunitCase::Outcome::failed;
        outcome.message = analysis.diagnostics.front().message;
        // Another rank, with other hardware, may have no error and wait for this one.
        if (!ranks.isAlone() && !ranks.world()->info().simulated)
            throw Error(ErrorCode::badGraph, outcome.message);
        printMessage(fmt::format("{}: not run, because the graph has {}: {}", command.file,
                                 analysis.errorCount() == 1
                                     ? "an error"
                                     : fmt::format("{} errors, the first", analysis.errorCount()),
                                 analysis.diagnostics.front().message));
        return ExitCode::graphErrors;
    }
    CompileOptions compileOptions;
    compileOptions.policy = policy;
    compileOptions.fuse = !command.noFusion && !command.failOnNan; // every op's own output is checked
    compileOptions.fuseOnCpu = true;
    for (const WantedOutput& output : outputs) compileOptions.keep.insert(output.port);
    for (const auto& [name, source] : probes) compileOptions.keep.insert(source);
    if (isPart) {
        requireParts(graph, analysis, seenBy);
        const CompileOptions whole{.policy = policy, .fuse = false}; // the same on different hardware
        requireSamePlan(*compile(graph, analysis, devices, files, whole), seenBy);
    }
    compileOptions.ownPart = isPart;
    const auto plan = compile(graph, analysis, devices, files, compileOptions);
    if (!isPart) requireSamePlan(*plan);

    std::set<std::string> said;
    const auto sayRemarks = [&] {
        if (command.quiet) return;
        for (const Device device : plan->devices.devices())
            if (const std::string remark = plan->devices.remark(device);
                !remark.empty() && said.insert(remark).second)
                printMessage("note: " + remark);
    };
    sayRemarks();

    RunReport report;
    report.inputs = inputFiles(*plan); // before the run, so that a change during the run shows
    RunOptions options;
    options.iterations = command.iterations.value_or(std::max<std::int64_t>(graph.info().iterations, 1));
    options.allowTf32 = command.allowTf32;
    options.cudaGraphs = !command.noCudaGraphs;
    if (options.allowTf32 && !command.quiet && !hasRealGpu(*plan))
        printMessage("warning: --allow-tf32 has no effect: no step of this run is on a real GPU");
    if (command.failOnNan)
        for (const Node& node : graph.nodes()) options.breakpoints[node.id] = *parseBreakpoints("nan or inf");
    Interrupts interrupts;
    RunWatch watch(plan, !command.trace.empty(), interrupts);
    std::optional<RunEventWriter> events;
    if (!command.events.empty() && ranks.isFirst())
        events.emplace(
            command.events, *plan, options.iterations,
            ranks.isAlone() ? std::function<std::vector<LiveRank>()>() : [&ranks] { return ranks.live(); });
    watch.setEvents(events ? &*events : nullptr);
    std::optional<RankPulseWriter> pulse;
    if (RankPulse* own = ranks.pulse()) pulse.emplace(*own, *plan);
    watch.setPulse(pulse ? &*pulse : nullptr);
    runWatched(plan, options, !command.quiet && stderrIsTerminal(), interrupts, watch);

    report.file = command.file;
    report.date = dateNow();
    report.policy = policy.toString();
    report.allowTf32 = options.allowTf32;
    report.plan = plan;
    report.ledger = &watch.ledger();
    report.steps = &watch.times();
    report.timeline = &watch.timeline();
    report.graph = &graph;
    report.result = watch.result();
    if (watch.found()) {
        const Step& step = plan->steps[watch.found()->step];
        report.result.status = RunStatus::failed;
        report.result.errors.push_back(
            {step.index, step.node, ErrorCode::failed,
             watch.foundSentence() +
                 "; to inspect it, run without --fail-on-nan and with --output NODE=FILE.npy"});
    }
    const bool isWhole = !analysis.hasErrors();
    const std::vector<bool> sound = analysis.soundNodes();
    const auto left = std::count(sound.begin(), sound.end(), false);
    report.diagnostics = std::move(analysis.diagnostics);
    for (const auto& [name, source] : probes)
        if (const Tensor* tensor = report.result.tensor(source))
            report.probes.push_back(probe(name, toHost(*tensor, plan->devices)));

    std::optional<RankReport> rankReport;
    if (!ranks.isAlone() && watch.result().status == RunStatus::finished) {
        rankReport = reportRanks(*ranks.world(), paceOf(watch, *plan), *plan);
        report.ranks = &*rankReport;
        if (isPart) report.probes = gatherProbes(world, std::move(report.probes));
    }
    if (events)
        events->end(report.result, report.probes, rankReport ? rankReport->ranks : std::vector<RankPace>());
    if (report.result.status == RunStatus::finished) {
        if (isPart)
            writeInTurn(outputs, report.result, *plan, world);
        else if (ranks.isFirst())
            writeOutputs(outputs, report.result, *plan);
    }
    // The first reason of all ranks is printed already; this rank may have found another one.
    const std::string own = world.abortSentence();
    const std::string why = own.empty() ? own : ranks.whyFailed();
    for (StepError& error : report.result.errors)
        if (!own.empty() && error.message.ends_with(own))
            error.message.replace(error.message.size() - own.size(), own.size(), why);
    if (ranks.isFirst()) {
        if (!command.report.empty()) writeFileAtomically(command.report, toJson(report));
    }
    writeTrace(command, report, watch, ranks);
    if (!command.quiet) printResult(toTable(report, stdoutHasColor()));
    sayRemarks(); // remarks that are known only after the run
    for (const StepError& error : report.result.errors)
        if (why.empty() || !error.message.ends_with(why)) printMessage(error.message);
    if (report.result.status == RunStatus::cancelled) printMessage(command.file + ": cancelled");
    if (!isWhole)
        printMessage(fmt::format(
            "{}: {} of {} nodes did not run: nodes with unknown ops (placeholders) and their consumers",
            command.file, left, graph.nodes().size()));
    const RunResult& result = report.result;
    outcome.seconds = static_cast<double>(result.prepareNs + result.setupNs + result.wallNs) / 1e9;
    if (report.result.status != RunStatus::finished || !isWhole) {
        outcome.outcome = JunitCase::Outcome::failed;
        outcome.message = !report.result.errors.empty() ? report.result.errors.front().message
                          : report.result.status == RunStatus::cancelled ? "cancelled"
                                                                         : "some nodes did not run";
    }
    const ExitCode code = exitCodeOf(report.result);
    return code == ExitCode::fine && !isWhole ? ExitCode::graphErrors : code;
}

/// The plug-ins beside a project are not copied to another machine.
void requireNoProjectOps(const Graph& graph, const std::string& project) {
    const fs::path ops = opsBeside(project);
    if (ops.empty()) return;
    for (const Plugin& plugin : loadedPlugins()) {
        if (plugin.file.parent_path() != ops) continue;
        for (const Node& node : graph.nodes())
            if (std::ranges::find(plugin.ops, node.op) != plugin.ops.end())
                throw Error(ErrorCode::invalidArgument,
                            fmt::format("--on does not copy {}, which has the op {} of \"{}\"; install the "
                                        "plug-in on both machines in ~/.local/share/tensor-workbench/ops",
                                        plugin.file.string(), node.op, node.name));
    }
}

/// The same run on another machine.
ExitCode runThere(const RunCommand& command) {
    if (!command.inputs.empty() || !command.outputs.empty() || !command.junit.empty() ||
        !command.events.empty() || !command.ranks.world.empty())
        throw Error(ErrorCode::invalidArgument,
                    "--on cannot be used with --input, --output, --junit, --events or --world");
    FileClaims claims = claimsOf(command, {}, {});
    Graph graph = loadProject(command.file); // loads the plug-ins, too, if they are trusted
    if (!command.quiet) tellOfModules(graph, command.file);
    const std::vector<Setting> settings = parseSettings(command.sets);
    applySettings(graph, settings);
    claims.readGraph(graph, fs::absolute(command.file).parent_path());
    requireNoProjectOps(graph, command.file);
    RemoteRun remote{command.on, command.file, std::move(graph)};
    remote.report = command.report;
    remote.trace = command.trace;
    remote.ranks = command.ranksThere;
    const auto add = [&](const char* flag, const std::string& value) {
        remote.arguments.emplace_back(flag);
        remote.arguments.push_back(value);
    };
    const PlacementOptions& placement = command.placement;
    if (command.iterations) add("--iterations", std::to_string(*command.iterations));
    for (const std::string& text : command.sets) add("--set", text);
    if (!placement.policy.empty()) add("--policy", placement.policy);
    for (const std::string& choice : placement.deviceMap) add("--device-map", choice);
    for (const auto& [flag, isSet] :
         {std::pair("--require-gpu", placement.requireGpu), std::pair("--allow-tf32", command.allowTf32),
          std::pair("--no-fusion", command.noFusion), std::pair("--no-cuda-graphs", command.noCudaGraphs),
          std::pair("--fail-on-nan", command.failOnNan), std::pair("--quiet", command.quiet)})
        if (isSet) remote.arguments.emplace_back(flag);
    RemoteWatch watch;
    const RemoteEnd end = runRemotely(remote, watch);
    if (end.isCancelled) {
        printMessage(fmt::format("{}: cancelled on {}", command.file, end.host));
        return ExitCode::cancelled;
    }
    if (end.exitCode == static_cast<int>(ExitCode::fine)) printMessage("measured on " + end.host);
    // A launcher there may end with an exit code of its own.
    const auto exit = static_cast<ExitCode>(end.exitCode);
    return exit <= ExitCode::deviceMissing || exit == ExitCode::cancelled ? exit : ExitCode::runFailed;
}

/// When a file was written; nothing if there is none.
std::optional<fs::file_time_type> writtenAt(const fs::path& path) {
    std::error_code failed;
    const fs::file_time_type time = fs::last_write_time(path, failed);
    return failed ? std::nullopt : std::optional(time);
}

/// The report of a job that has ended before rank 0 could write its own.
std::string failureReport(const RunCommand& command, const std::string& sentence) {
    RunReport report;
    report.file = command.file;
    report.date = dateNow();
    report.policy = command.placement.policy.empty() ? "strict" : command.placement.policy;
    report.plan = std::make_shared<Plan>();
    report.result.status = RunStatus::failed;
    report.result.errors.push_back({kNone, NodeId::none, ErrorCode::failed, sentence});
    return toJson(report);
}

ExitCode runOnRanks(const RunCommand& command, JunitCase& outcome) {
    const auto before = writtenAt(command.report);
    Ranks ranks(command.ranks, command.file, [&](const std::string& sentence) {
        if (command.report.empty() || writtenAt(command.report) != before) return; // rank 0 has written it
        writeFileAtomically(command.report, failureReport(command, sentence));
    });
    try {
        return run(command, ranks, outcome);
    } catch (const DifferentPlans& error) {
        outcome = {command.file, JunitCase::Outcome::error, error.what(), {}, 0};
        return ranks.endTogether(error);
    } catch (const Error& error) {
        return ranks.end(error);
    }
}

/// Also writes a JUnit file for a run that could not start.
ExitCode runAndTell(const RunCommand& command) {
    JunitCase outcome;
    outcome.name = command.file;
    try {
        const ExitCode exit = runOnRanks(command, outcome);
        if (!command.junit.empty()) writeJunit(command.junit, "run", {outcome});
        return exit;
    } catch (const Error& error) {
        if (!command.junit.empty() && error.code() != ErrorCode::invalidArgument)
            writeJunit(command.junit, "run",
                       {{command.file, JunitCase::Outcome::error, error.what(), {}, 0}});
        throw;
    }
}

} // namespace

void addRunCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<RunCommand>();
    CLI::App* command = app.add_subcommand("run", "Run a graph and print a table of steps and transfers");
    command->add_option("FILE", options->file, "Project file (.twb)")->required();
    addIterations(*command, options->iterations, "Number of iterations; default: the file's");
    const auto many = [&](const char* flag, std::vector<std::string>& into, const char* type,
                          const char* doc) {
        command->add_option(flag, into, doc)->type_name(type)->take_all()->allow_extra_args(false);
    };
    many("--set", options->sets, "NODE.ATTRIBUTE=VALUE",
         "Set an attribute for this run; node.device=cuda:0 moves a node, node.disabled=true disables it");
    many("--input", options->inputs, "NODE=FILE",
         "Read a source node's tensor from this file: a.npy, a.npz#name or a.safetensors#name");
    many("--output", options->outputs, "NODE=FILE",
         "Write a node's result to this file after the run; other tensors in the file stay");
    options->placement.addTo(*command, true);
    options->ranks.addTo(*command);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--allow-tf32", options->allowTf32,
                      "Allow TF32 for f32 matmul and convolution on a real GPU");
    command->add_flag("--no-fusion", options->noFusion,
                      "Launch each op by itself, so that each has its own time");
    command->add_flag("--no-cuda-graphs", options->noCudaGraphs, "Do not use CUDA graphs on a real GPU");
    command->add_flag("--fail-on-nan", options->failOnNan,
                      "Fail with exit code 1 at the first output with a NaN or an inf; the time of this "
                      "check is not counted");
    command->add_option("--report", options->report, "Write a JSON report")->type_name("FILE.json");
    command->add_option("--trace", options->trace, "Write a Chrome trace, for ui.perfetto.dev")
        ->type_name("FILE.json");
    command
        ->add_option("--events", options->events,
                     "Write the plan and each step's time to this file during the run, as the window reads "
                     "them from another machine")
        ->type_name("FILE");
    addJunit(*command, options->junit);
    command->add_flag("--quiet", options->quiet, "Print no table, progress or warnings");
    CLI::Option* there = command->add_option(
        "--on", options->on,
        "Run on another machine: copy the project there, run it with the twb of that machine, "
        "and fetch the "
        "report; if the connection is lost, the same command continues");
    there->type_name("ssh:HOST[:PATH]");
    command
        ->add_option("--ranks", options->ranksThere,
                     "With --on: the number of processes that mpirun starts there; default: 1")
        ->type_name("N")
        ->check(wholeBetween(1, 1024))
        ->needs(there);
    command->callback(
        [options, &exit] { exit = options->on.empty() ? runAndTell(*options) : runThere(*options); });
}

} // namespace twb
