#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "profile/overlay.h"
#include "runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace twb {
namespace {

struct OverlayOptions {
    std::string file;
    std::string trace;
    std::string output;
    PlacementOptions placement;
    bool allowOutside = false;
};

/// A program that was captured on a machine without a GPU may have mismatches that its profile cannot have.
/// Unless a policy was asked for, operands on the wrong device are treated as copied to the op's device.
void acceptMismatches(PlacedGraph& placed, const OverlayOptions& options) {
    const std::vector<Diagnostic>& found = placed.analysis.diagnostics;
    const auto mismatches = std::count_if(found.begin(), found.end(), [](const Diagnostic& d) {
        return d.severity == Severity::error && d.code == "device-mismatch" && d.root == NodeId::none;
    });
    if (mismatches == 0 || !options.placement.policy.empty()) return;
    placed.analysis = analyze(placed.graph, placed.devices, Policy::implicit, placed.files.get());
    printMessage(fmt::format(
        "{} has {}; operands on the wrong device are treated as copied to the op's device, as with "
        "--policy implicit",
        options.file, counted(static_cast<std::uint64_t>(mismatches), "mismatch", "mismatches")));
}

ExitCode overlayProfile(const OverlayOptions& options) {
    FileClaims claims;
    claims.read(options.file, "FILE");
    claims.read(options.trace, "TRACE");
    options.placement.claim(claims);
    if (!options.output.empty()) claims.write(options.output, "--output");
    PlacedGraph placed = loadPlaced(options.file, options.placement, options.allowOutside);
    acceptMismatches(placed, options);
    requireNoErrors(placed, options.file);
    RunReport report;
    report.file = options.file;
    report.policy = placed.analysis.policy.toString();
    report.graph = &placed.graph;
    report.diagnostics = placed.analysis.diagnostics;
    report.plan = compile(placed.graph, placed.analysis, placed.devices, placed.files,
                          {.policy = placed.analysis.policy, .fuse = false});
    ReadingLine line("reading " + options.trace);
    const Overlay matched = overlay(placed.graph, *report.plan, options.trace, line.progress());
    line.clear();
    printResult(toText(matched, options.trace, *report.plan));
    for (const std::string& problem : matched.problems)
        printMessage(fmt::format("{}: {}", options.trace, problem));
    if (options.output.empty()) return ExitCode::fine;
    writeFileAtomically(options.output, toJson(matched, options.trace, report));
    return ExitCode::fine;
}

} // namespace

void addOverlayCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<OverlayOptions>();
    CLI::App* command = app.add_subcommand(
        "overlay", "Lay the measured times of a PyTorch or ONNX Runtime profile over a graph");
    command
        ->add_option("FILE", options->file,
                     "The project (.twb), ONNX model (.onnx) or PyTorch program (.twbcap, .pt2)")
        ->required();
    command
        ->add_option("TRACE", options->trace,
                     "A profile of torch.profiler or ONNX Runtime (.json or .json.gz)")
        ->required();
    command->add_option("-o,--output", options->output, "Report to write, for `twb report`")
        ->type_name("FILE.json");
    options->placement.addTo(*command, false);
    addAllowOutside(*command, options->allowOutside);
    command->callback([options, &exit] { exit = overlayProfile(*options); });
}

} // namespace twb
