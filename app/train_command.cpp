#include "app/train_command.h"

#include "app/settings.h"
#include "app/shared_options.h"
#include "core/error.h"
#include "ops/batch_rows.h"
#include "training/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

namespace twb {
namespace {

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

} // namespace

Graph trainingGraph(const TrainCommand& command, const DeviceMap& devices, Policy policy,
                    const TensorFiles& files, Graph graph) {
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

void TrainCommand::addTo(CLI::App& command) {
    command.add_option("FILE", file, "Project file (.twb)")->required();
    std::vector<std::string_view> optimizers;
    for (const OptimizerName& optimizer : optimizerNames()) optimizers.push_back(optimizer.name);
    command.add_option("--epochs", epochs, "Epochs in total, with those before --resume; default: 10")
        ->type_name("N")
        ->check(wholeBetween(1, 1'000'000'000));
    command.add_option("--batch", batch, "Rows per batch; default: those of the Batches nodes")
        ->type_name("N")
        ->check(wholeBetween(1));
    command.add_option("--loss", loss, "The loss node, if the graph has no training module")
        ->type_name("NODE");
    command
        .add_option("--parameters", parameters,
                    "Source nodes to train; default: all Parameter nodes before the loss or, without any, "
                    "its weights")
        ->type_name("NODE,…")
        ->delimiter(',');
    command.add_option("--optimizer", optimizer, "Rule that updates the parameters; default: adamw")
        ->type_name(fmt::format("NAME:{{{}}}", fmt::join(optimizers, ",")));
    command
        .add_option("--lr", rate,
                    "Learning rate; default: the file's, else 0.01 for sgd, rmsprop and adagrad, 0.001 for "
                    "adam and adamw, 0.0001 for lion")
        ->type_name("R")
        ->check(numberBetween(0));
    command.add_option("--momentum", momentum, "Momentum of sgd or rmsprop")
        ->type_name("M")
        ->check(numberBetween(0));
    command.add_option("--weight-decay", weightDecay, "Weight decay")
        ->type_name("W")
        ->check(numberBetween(0));
    command.add_flag("--nesterov", nesterov, "Nesterov momentum of sgd; needs --momentum");
    command.add_option("--schedule", schedule, "Schedule of the learning rate")
        ->type_name("NAME")
        ->check(CLI::IsMember({"constant", "step", "exponential", "cosine", "one_cycle", "plateau"}));
    command.add_option("--warmup", warmup, "Steps of linear warm-up")->type_name("N")->check(wholeBetween(0));
    command.add_option("--clip-norm", clipNorm, "Largest norm of all gradients together")
        ->type_name("X")
        ->check(numberInside(0));
    command
        .add_option("--clip-value", clipValue,
                    "Largest absolute value of each element of a gradient; applied before --clip-norm")
        ->type_name("X")
        ->check(numberInside(0));
    command
        .add_option("--ema", averageDecay,
                    "Also keep a moving average of the parameters, with this decay; --export-weights writes "
                    "it as a tensor \"NAME average\"")
        ->type_name("D")
        ->check(numberInside(0, 1));
    command
        .add_option(
            "--amp", amp,
            "Mixed precision: compute matrix products and convolutions in bf16, or in f16 with a loss "
            "scale")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"bf16", "f16"}));
    CLI::Option* val =
        command.add_option("--val", validation, "Validation data; default: the rows that Batches holds out");
    val->type_name("FILE");
    command.add_option("--val-labels", validationLabels, "Labels of the rows of --val")
        ->type_name("FILE")
        ->needs(val);
    command
        .add_option("--seed", seed,
                    "Seed of all random nodes: parameters, row order, validation split, Dropout")
        ->type_name("S");
    CLI::Option* folder =
        command.add_option("--checkpoint", checkpoints, "Folder for checkpoints")->type_name("DIR");
    command.add_option("--every", every, "Steps between two checkpoints; default: an epoch")
        ->type_name("N")
        ->needs(folder)
        ->check(wholeBetween(1));
    command.add_option("--keep", keep, "Checkpoints to keep; --resume uses the newest; default: 3")
        ->type_name("K")
        ->needs(folder)
        ->check(wholeBetween(1, 1'000'000));
    command.add_flag("--resume", resume, "Continue from the last checkpoint")->needs(folder);
    command
        .add_option("--early-stop", stopOn, "Stop when this metric has not improved for --patience epochs")
        ->type_name("METRIC")
        ->check(CLI::IsMember({"loss", "validation-loss", "accuracy"}));
    command
        .add_option("--patience", patience,
                    "Epochs without improvement before --early-stop ends the training; default: 5")
        ->type_name("N")
        ->check(wholeBetween(1));
    command
        .add_option("--report", report,
                    "Write the figures of each epoch, the loss of each step, and a classifier's confusion "
                    "matrix as JSON")
        ->type_name("R.json");
    command
        .add_option("--trace", trace,
                    "Write a Chrome trace of all steps and validations, for ui.perfetto.dev; on several "
                    "ranks, of all ranks on one clock")
        ->type_name("FILE.json");
    command.add_option("--export-weights", weights, "Write the trained parameters")
        ->type_name("W.safetensors");
    command
        .add_option("-o,--output", output,
                    "Write the graph with the trained weights, without backward pass and optimizer")
        ->type_name("OUT.twb");
    CLI::Option* saved =
        command.add_option("--save-graph", graph, "Write the graph with its training, and do not run it");
    saved->type_name("OUT.twb");
    command.add_option("--set", sets, "Set an attribute for this training")
        ->type_name("NODE.ATTRIBUTE=VALUE")
        ->take_all()
        ->allow_extra_args(false);
    placement.addTo(command, true);
    ranks.addTo(command);
    command
        .add_flag("--sync-batch-norm", syncBatchNorm,
                  "On several ranks, normalize by the mean and variance over the rows of all ranks, as "
                  "torch.nn.SyncBatchNorm does; default: each rank by those of its own rows")
        ->excludes(saved);
    addAllowOutside(command, allowOutside);
    command.add_flag("--allow-tf32", allowTf32, "Allow TF32 for f32 matmul and convolution on a real GPU");
    command.add_flag("--quiet", quiet, "Do not print a line per epoch");
}

} // namespace twb
