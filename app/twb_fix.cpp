#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/project_output.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "core/format.h"
#include "core/text_table.h"
#include "formats/model_formats.h"
#include "formats/pytorch/python_fixes.h"
#include "formats/pytorch/python_source.h"
#include "placement/causes.h"
#include "placement/fix_set.h"
#include "profile/prediction.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace twb {
namespace {

struct FixOptions {
    std::string file;
    ProjectOutputOptions output;
    PlacementOptions placement;
    bool allowOutside = false;
    bool json = false;
    bool patch = false;
};

/// Prints the fixes of a captured program as a unified diff of its files.
ExitCode printPatch(const FixOptions& options) {
    if (!isCapture(options.file))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--patch needs a capture (.twbcap), but {} is not one", options.file));
    const PlacedGraph placed = loadPlaced(options.file, options.placement, options.allowOutside);
    PythonSource source(options.file);
    const ReadLine read = source.reader();
    const std::vector<PythonFix> fixes = pythonFixes(placed.graph, placed.analysis, read);
    const auto nameOf = [](const std::string& file) {
        const std::filesystem::path relative =
            std::filesystem::path(file).lexically_relative(std::filesystem::current_path());
        return relative.empty() || *relative.begin() == ".." ? file : relative.string();
    };
    printResult(toPatch(fixes, read, nameOf));
    for (const std::string& file : source.changed())
        printMessage(fmt::format("{} has changed since the capture; capture the script again", file));
    for (const PythonFix& fix : fixes)
        if (fix.before == fix.after) printMessage(fmt::format("change this by hand: {}", fix.advice));
    return ExitCode::fine;
}

std::string qualityOf(const FixSet& set) {
    if (set.isExact) return "no set of fixes has a smaller total time";
    return fmt::format("no set of fixes has a total time below {}", formatMs(set.atLeastNs));
}

nlohmann::ordered_json toJson(const PlacedGraph& placed, const FixSet& set, const std::vector<Cause>& causes,
                              const std::string& file) {
    nlohmann::ordered_json fixes = nlohmann::ordered_json::array();
    for (const Fix& fix : set.fixes)
        fixes.push_back({{"title", fix.title}, {"bytes", fix.price.bytes}, {"ms", fix.price.ns / 1e6}});
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Cause& cause : causes) {
        nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
        for (const NodeId node : cause.nodes) nodes.push_back(value(node));
        list.push_back({{"nodes", nodes},
                        {"sentence", cause.sentence},
                        {"decided", cause.decided},
                        {"diagnostics", cause.diagnostics.size()}});
    }
    return {{"schema", 1},
            {"file", file},
            {"title", placed.graph.info().title},
            {"causes", list},
            {"fixes", fixes},
            {"iteration_ms", set.ns / 1e6},
            {"iteration_ms_with_to_on_each", set.insertingNs / 1e6},
            {"at_least_ms", set.atLeastNs / 1e6},
            {"exact", set.isExact},
            {"from", sourcesOf(placed.devices)},
            {"modelled", true}};
}

ExitCode fix(const FixOptions& options) {
    if (options.patch) return printPatch(options);
    const ProjectOutput output(options.output, options.file, options.placement);
    PlacedGraph placed = loadPlaced(options.file, options.placement, options.allowOutside);
    const FixSet set = minimalFixSet(placed.graph, placed.analysis, placed.devices, placed.files.get());
    std::vector<Cause> causes;
    for (Cause& cause : causesOf(placed.graph, placed.analysis, placed.devices))
        if (placed.analysis.diagnostics[cause.diagnostics.front()].code == "device-mismatch")
            causes.push_back(std::move(cause));
    if (options.json) {
        printJson(toJson(placed, set, causes, options.file));
    } else if (set.fixes.empty()) {
        printResult(fmt::format("{}: no device mismatches\n", printable(options.file)));
    } else {
        for (const Cause& cause : causes)
            printResult(fmt::format("{}{}\n", printable(cause.sentence),
                                    cause.decided.empty() ? "" : " (" + printable(cause.decided) + ")"));
        TextTable table({TextTable::Align::left, TextTable::Align::right, TextTable::Align::right}, 2);
        for (const Fix& each : set.fixes)
            table.add({each.title, each.price.bytes ? formatExactBytes(each.price.bytes) : "",
                       each.price.ns > 0 ? formatMs(each.price.ns) + " modelled" : ""});
        printResult(table.toString());
        printResult(
            fmt::format("Total time of all steps and copies of an iteration: {} modelled; {}. With a To "
                        "on each mismatched edge, it would be {}.\nThe times are modelled {}.\n",
                        formatMs(set.ns), qualityOf(set), formatMs(set.insertingNs),
                        printable(sourcesOf(placed.devices))));
    }
    if (options.output.path.empty()) return ExitCode::fine;
    placed.graph.apply(set.delta);
    output.save(placed.graph);
    const Analysis after = analyze(placed.graph, placed.devices, placed.analysis.policy, placed.files.get());
    if (!after.hasErrors()) return ExitCode::fine;
    printMessage(fmt::format("{} still has {} other than device mismatches; run `twb check` to list them",
                             options.output.path, after.errorCount() == 1 ? "an error" : "errors"));
    return ExitCode::graphErrors;
}

} // namespace

void addFixCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<FixOptions>();
    CLI::App* command = app.add_subcommand(
        "fix", "Fix all device mismatches by the fixes that minimise the total time of steps and copies");
    command->add_option("FILE", options->file, "The project (.twb) or the capture (.twbcap)")->required();
    options->output.addTo(*command, "Write the fixed project to this file");
    options->placement.addTo(*command, false);
    options->placement.addWorldTo(*command);
    addAllowOutside(*command, options->allowOutside);
    CLI::Option* json = command->add_flag("--json", options->json, "Print JSON instead of text");
    command
        ->add_flag(
            "--patch", options->patch,
            "Print the fixes of a capture's script as a diff for `patch -p0`, for lines that are simple "
            "enough to change")
        ->excludes(json);
    command->callback([options, &exit] { exit = fix(*options); });
}

} // namespace twb
