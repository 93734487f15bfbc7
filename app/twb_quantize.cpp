#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/project_output.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "backends/cpu/low_precision.h"
#include "core/format.h"
#include "core/text_table.h"
#include "formats/file_claims.h"
#include "formats/lower_precision.h"
#include "formats/model_formats.h"
#include "formats/project.h"
#include "formats/sample_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

namespace twb {
namespace {

struct QuantizeOptions {
    std::string file;
    ProjectOutputOptions output;
    std::string calibrate;
    std::string to = "int8";
    std::string report;
    PlacementOptions placement;
    double percentile = 100;
    bool perTensor = false;
    bool keepFirstAndLast = false;
    bool allowOutside = false;
    bool quiet = false;
};

/// "20 convolutions and 1 product".
std::string nodesText(const LowerPrecision& change) {
    std::string out;
    const auto add = [&](int count, const char* noun) {
        if (count == 0) return;
        out += fmt::format("{}{} {}{}", out.empty() ? "" : " and ", count, noun, count == 1 ? "" : "s");
    };
    add(change.convolutions, "convolution");
    add(change.products, "product");
    return out;
}

void printLoss(const QuantizeOptions& options, const PrecisionChange& change, std::size_t samples) {
    const LowerPrecision& nodes = change.change;
    const PrecisionLoss& loss = change.loss;
    printResult(fmt::format("{}: {} in {}{}\nweights: {} -> {}\n", printable(options.file), nodesText(nodes),
                            options.to,
                            nodes.skipped > 0 ? fmt::format(", {} unchanged", nodes.skipped) : std::string(),
                            formatBytes(nodes.bytesBefore), formatBytes(nodes.bytesAfter)));
    using Align = TextTable::Align;
    TextTable table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}, 2);
    table.add({"output", "largest error", "relative error", "SQNR", "agreement", "value"});
    for (const OutputLoss& output : loss.outputs)
        table.add(
            {output.name, formatNumber(output.maxError, 3),
             std::isinf(output.relativeError) ? "" : fmt::format("{:.2f} %", 100 * output.relativeError),
             output.relativeError == 0          ? "exact"
             : std::isinf(output.relativeError) ? ""
                                                : fmt::format("{:.1f} dB", output.sqnr()),
             output.agreement ? fmt::format("{:.2f} %", 100 * *output.agreement) : "",
             output.before
                 ? fmt::format("{} -> {}", formatNumber(*output.before, 4), formatNumber(*output.after, 4))
                 : ""});
    printResult(table.toString());
    printResult(fmt::format("{}: {} -> {} per iteration, {:.2f} times as fast{}\n",
                            samples == 1 ? "1 sample" : fmt::format("{} samples", samples),
                            formatMs(loss.nsBefore), formatMs(loss.nsAfter), loss.nsBefore / loss.nsAfter,
                            loss.isModelled ? " (modelled)" : ""));
}

nlohmann::ordered_json finiteOrNull(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json toJson(const QuantizeOptions& options, const PrecisionChange& change,
                              std::size_t samples) {
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (const OutputLoss& output : change.loss.outputs) {
        nlohmann::ordered_json one{{"name", output.name},
                                   {"max_error", finiteOrNull(output.maxError)},
                                   {"relative_error", finiteOrNull(output.relativeError)},
                                   {"sqnr_db", finiteOrNull(output.sqnr())}};
        if (output.agreement) one["agreement"] = *output.agreement;
        if (output.before) one["value_before"] = finiteOrNull(*output.before);
        if (output.after) one["value_after"] = finiteOrNull(*output.after);
        outputs.push_back(std::move(one));
    }
    return {{"schema", 1},
            {"file", options.file},
            {"to", options.to},
            {"samples", samples},
            {"percentile", options.percentile},
            {"keep_first_last", options.keepFirstAndLast},
            {"convolutions", change.change.convolutions},
            {"products", change.change.products},
            {"unchanged", change.change.skipped},
            {"weight_bytes_before", change.change.bytesBefore},
            {"weight_bytes_after", change.change.bytesAfter},
            {"iteration_ms_before", toMs(change.loss.nsBefore)},
            {"iteration_ms_after", toMs(change.loss.nsAfter)},
            {"modelled", change.loss.isModelled},
            {"outputs", outputs}};
}

/// The changed graph with its new tensors and, for an imported model, those that it keeps.
ImportedModel modelOf(const QuantizeOptions& options, const PlacedGraph& placed, const Delta& delta,
                      HeldTensors& held) {
    ImportedModel out;
    out.graph = placed.graph;
    out.graph.apply(delta);
    if (modelFormatOf(options.file)) {
        const auto known = held.of(out.graph);
        DeltaBuilder builder(out.graph, {});
        for (Node node : out.graph.nodes()) {
            if (node.op != "File" || known.contains(node.attributes.text("path"))) continue;
            const std::string path = node.attributes.text("path");
            const Tensor tensor = Tensor::onHost(placed.files->typeOf(path));
            placed.files->read(path, tensor.view());
            held.hold()(node, tensor);
            builder.change(node);
        }
        out.graph.apply(builder.take());
    }
    out.tensors = held.of(out.graph);
    return out;
}

ExitCode quantize(const QuantizeOptions& options) {
    const ProjectOutput output(options.output, options.file, options.placement);
    FileClaims claims;
    claims.read(options.file, "the project");
    if (!options.report.empty()) claims.write(options.report, "--report");
    // With --force, -o may be FILE.
    std::error_code unknown;
    const bool isFile =
        options.output.force && std::filesystem::equivalent(options.output.path, options.file, unknown);
    if (!options.output.path.empty() && !isFile)
        claims.write(options.output.path, "-o", FileClaims::Content::project);
    const PlacedGraph placed = loadPlaced(options.file, options.placement, options.allowOutside);
    requireNoErrors(placed, options.file);
    if (options.to == "bf16" && (options.percentile < 100 || options.keepFirstAndLast))
        throw Error(ErrorCode::invalidArgument,
                    "--percentile and --keep-first-last are for int8: leave them out with --to bf16");
    const LowPrecision to = options.to == "bf16" ? LowPrecision::bf16 : LowPrecision::int8;
    const std::unique_ptr<Samples> samples = samplesFor(placed.graph, placed.analysis, options.calibrate);
    const RunSetup setup{placed.devices, placed.files, placed.analysis.policy};
    HeldTensors held(placed.graph);
    const PrecisionChange change = lowerPrecision(placed.graph, setup, *samples, to, held, {},
                                                  {.perChannel = !options.perTensor,
                                                   .percentile = options.percentile,
                                                   .keepsFirstAndLast = options.keepFirstAndLast});
    if (change.change.delta.empty())
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: nothing to convert: the graph has no Conv, MatMul or Gemm in f32 with "
                                "fixed weights{}",
                                options.file,
                                change.change.skipped == 0 ? std::string()
                                : options.keepFirstAndLast
                                    ? " besides the first and the last, which --keep-first-last keeps in f32"
                                    : fmt::format(" that a kernel in {} could compute", options.to)));
    output.save(modelOf(options, placed, change.change.delta, held));
    if (!options.report.empty())
        writeFileAtomically(options.report, jsonText(toJson(options, change, samples->count())));
    if (options.quiet) return ExitCode::fine;
    printLoss(options, change, samples->count());
    if (!(to == LowPrecision::int8 ? hasByteProducts() : hasBFloat16Products()))
        printMessage(
            fmt::format("note: this CPU has no instructions for products in {} ({}), so they are not "
                        "faster here",
                        options.to, to == LowPrecision::int8 ? "VNNI" : "AVX512_BF16"));
    return ExitCode::fine;
}

} // namespace

void addQuantizeCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<QuantizeOptions>();
    CLI::App* command = app.add_subcommand(
        "quantize", "Compute products and convolutions in int8 or bf16, and report the accuracy lost");
    command->add_option("FILE", options->file, "The project (.twb) or the model (.onnx, .pt2)")->required();
    options->output.addTo(*command, "Write the changed project to this file, and its weights beside it");
    command
        ->add_option(
            "--calibrate", options->calibrate,
            "Folder of samples: .npz files with an array per input, or folders with a file INPUT.npy per "
            "input; if the graph has one input, also .npy files")
        ->type_name("DIR");
    command->add_option("--to", options->to, "Dtype of products and convolutions; default: int8")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"int8", "bf16"}));
    command->add_flag("--per-tensor", options->perTensor,
                      "One scale for all weights of a node; default: one per output channel");
    command
        ->add_option("--percentile", options->percentile,
                     "Share of the elements of each activation that its int8 range holds, in percent; the "
                     "others are clipped; default: 100, the least and the largest element")
        ->type_name("P")
        ->check(numberBetween(50, 100));
    command->add_flag("--keep-first-last", options->keepFirstAndLast,
                      "Keep the first and the last product or convolution in f32; for int8");
    command->add_option("--report", options->report, "Write the accuracy and the times as JSON")
        ->type_name("R.json");
    options->placement.addTo(*command, false);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--quiet", options->quiet, "Print no table");
    command->callback([options, &exit] { exit = quantize(*options); });
}

} // namespace twb
