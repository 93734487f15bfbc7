#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/project_output.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "core/format.h"
#include "placement/proposal.h"
#include "profile/prediction.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace twb {
namespace {

struct PlaceOptions {
    std::string file;
    ProjectOutputOptions output;
    PlacementOptions placement;
    bool allowOutside = false;
    bool json = false;
};

nlohmann::ordered_json toJson(const Graph& graph, const PlacementProposal& proposal, const Prediction& now,
                              const Prediction& then, const std::string& file) {
    nlohmann::ordered_json moves = nlohmann::ordered_json::array();
    for (const PlacementMove& move : proposal.moves) {
        nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
        for (const NodeId node : move.nodes)
            nodes.push_back({{"node", value(node)}, {"name", graph.find(node)->name}});
        moves.push_back({{"nodes", nodes},
                         {"from", move.from.toString()},
                         {"to", move.to.toString()},
                         {"copies", move.copies},
                         {"copies_ms", move.copyNs / 1e6},
                         {"steps_ms", move.stepNs / 1e6},
                         {"reason", move.reason}});
    }
    return {{"schema", 1},
            {"file", file},
            {"moves", moves},
            {"sum_ms_now", proposal.nsNow / 1e6},
            {"sum_ms", proposal.ns / 1e6},
            {"at_least_ms", proposal.atLeastNs / 1e6},
            {"exact", proposal.isExact},
            {"fits", then.fits()},
            {"iteration_ms_now", now.iterationNs / 1e6},
            {"iteration_ms", then.iterationNs / 1e6},
            {"from", now.sources},
            {"modelled", true}};
}

ExitCode place(const PlaceOptions& options) {
    const ProjectOutput output(options.output, options.file, options.placement);
    PlacedGraph placed = loadPlaced(options.file, options.placement, options.allowOutside);
    requireNoErrors(placed, options.file);
    const PlacementProposal proposal = proposePlacement(
        placed.graph, placed.analysis, placed.devices, placed.files.get(), [&](const Graph& graph) {
            return predict(graph, placed.devices, placed.files, placed.analysis.policy).iterationNs;
        });
    Graph moved = placed.graph;
    moved.apply(proposal.delta);
    const Prediction now = predict(placed.graph, placed.devices, placed.files, placed.analysis.policy);
    const Prediction then = predict(moved, placed.devices, placed.files, placed.analysis.policy);
    if (options.json) {
        printJson(toJson(placed.graph, proposal, now, then, options.file));
    } else if (proposal.moves.empty()) {
        printResult(fmt::format("{}: no better placement found{}\n", printable(options.file),
                                proposal.isExact ? "" : " in a limited search"));
    } else {
        for (const PlacementMove& move : proposal.moves) printResult(printable(move.reason) + '\n');
        printResult(fmt::format("Modelled iteration: {} now, {} after the moves. Total time of all its steps "
                                "and copies: {} now, {} after.\n{}.\nThe times are modelled {}.\n",
                                formatMs(now.iterationNs), formatMs(then.iterationNs),
                                formatMs(proposal.nsNow), formatMs(proposal.ns),
                                proposal.isExact
                                    ? "No placement has a smaller total time"
                                    : fmt::format("No placement has a total time below {} (modelled)",
                                                  formatMs(proposal.atLeastNs)),
                                printable(now.sources)));
    }
    for (const auto& use : then.devices)
        if (!use.fits())
            printMessage(fmt::format("{} would need {} of memory, but has {}", use.device.toString(),
                                     formatBytes(static_cast<double>(use.plannedBytes)),
                                     formatBytes(static_cast<double>(use.memoryBytes))));
    output.save(moved);
    return ExitCode::fine;
}

} // namespace

void addPlaceCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<PlaceOptions>();
    CLI::App* command =
        app.add_subcommand("place", "Propose the lanes that minimise the total time of steps and copies");
    command->add_option("FILE", options->file, "The project (.twb)")->required();
    options->output.addTo(*command, "Write the project with the proposed lanes to this file");
    options->placement.addTo(*command, false);
    options->placement.addWorldTo(*command);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--json", options->json, "Print JSON instead of text");
    command->callback([options, &exit] { exit = place(*options); });
}

} // namespace twb
