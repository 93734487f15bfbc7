#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "backends/world.h"
#include "core/format.h"
#include "core/text_table.h"
#include "profile/prediction.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace twb {
namespace {

struct PredictOptions {
    std::string file;
    PlacementOptions placement;
    std::vector<std::string> whatIf;
    bool allowOutside = false;
    bool json = false;
};

/// One device map with its prediction.
struct Case {
    std::string name;
    std::shared_ptr<const Plan> plan; ///< null: the graph cannot run on these devices
    Prediction prediction;
    std::string problem; ///< the reason
};

/// Throws like requireNoErrors. For a hypothetical device, an error is part of the answer.
Case predictCase(const PredictOptions& options, const PlacementOptions& placement, std::string name,
                 bool isWhatIf) {
    const PlacedGraph placed = loadPlaced(options.file, placement, options.allowOutside);
    Case out;
    out.name = std::move(name);
    try {
        requireNoErrors(placed, options.file);
    } catch (const Error& error) {
        if (!isWhatIf) throw;
        out.problem = error.what();
        return out;
    }
    out.plan = planFor(placed.graph, placed.devices, placed.files, placed.analysis.policy);
    out.prediction = predict(*out.plan, placed.graph.info().iterations);
    return out;
}

std::string fitOf(const Prediction& prediction) {
    for (const auto& use : prediction.devices)
        if (!use.fits())
            return fmt::format("no: {} needs {}, but has {}", use.device.toString(),
                               formatBytes(static_cast<double>(use.plannedBytes)),
                               formatBytes(static_cast<double>(use.memoryBytes)));
    return "yes";
}

/// "4 ranks on NVLink 4"; "" for one rank.
std::string worldOf(const Case& each) {
    const World& world = each.plan->devices.world();
    return world.size() == 1 ? std::string()
                             : fmt::format("{} ranks on {}", world.size(), world.link()->name);
}

std::string devicesOf(const Case& each) {
    std::vector<std::string> names;
    for (const auto& use : each.prediction.devices)
        if (!use.device.isCpu()) names.push_back(fmt::format("{} {}", use.device.toString(), use.name));
    if (names.empty()) names.emplace_back("cpu");
    if (const std::string world = worldOf(each); !world.empty()) names.push_back(world);
    return fmt::format("{}", fmt::join(names, ", "));
}

nlohmann::ordered_json toJson(const Case& each) {
    if (!each.plan) return {{"device_map", each.name}, {"problem", each.problem}};
    const Prediction& p = each.prediction;
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const auto& use : p.devices)
        devices.push_back({{"device", use.device.toString()},
                           {"name", use.name},
                           {"planned_bytes", use.plannedBytes},
                           {"total_bytes", use.memoryBytes},
                           {"fits", use.fits()},
                           {"busy_ms", use.busyNs / 1e6}});
    double sumNs = 0; // the sum of all steps and copies
    for (const auto& use : p.devices) sumNs += use.busyNs;
    nlohmann::ordered_json path = nlohmann::ordered_json::array();
    for (const std::uint32_t s : p.criticalPath) {
        const Step& step = each.plan->steps[s];
        path.push_back({{"node", value(step.node)},
                        {"label", step.label},
                        {"stream", each.plan->streams[step.stream].label},
                        {"start_ms", p.spans[s].start / 1e6},
                        {"ms", step.predictedNs / 1e6}});
    }
    return {{"device_map", each.name},
            {"from", each.prediction.sources},
            {"iteration_ms", p.iterationNs / 1e6},
            {"latency_ms", p.latencyNs / 1e6},
            {"sum_ms", sumNs / 1e6},
            {"setup_ms", p.setupNs / 1e6},
            {"critical_compute_ms", p.critical.compute / 1e6},
            {"critical_transfer_ms", p.critical.transfer / 1e6},
            {"critical_overhead_ms", p.critical.overhead / 1e6},
            {"transfer_bytes", p.transferBytes},
            {"world", worldOf(each)},
            {"communication_ms", p.communicationNs / 1e6},
            {"complete", p.isComplete},
            {"fits", p.fits()},
            {"devices", devices},
            {"critical_path", path},
            {"modelled", true}};
}

void print(const std::vector<Case>& cases) {
    using enum TextTable::Align;
    TextTable table({left, right, right, right, right, right, right, left, left});
    table.add({"hardware", "iteration", "latency", "compute", "transfer", "launches", "moved", "fits", ""});
    table.addRule();
    for (const Case& each : cases) {
        const Prediction& p = each.prediction;
        if (!each.plan) {
            table.add({each.name, "", "", "", "", "", "", "no: " + each.problem, ""});
            continue;
        }
        table.add({devicesOf(each), formatMs(p.iterationNs), formatMs(p.latencyNs),
                   fmt::format("{:.0f} %", percent(p.critical.compute, p.latencyNs)),
                   fmt::format("{:.0f} %", percent(p.critical.transfer, p.latencyNs)),
                   fmt::format("{:.0f} %", percent(p.critical.overhead, p.latencyNs)),
                   formatBytes(p.transferBytes), fitOf(p), "modelled"});
    }
    printResult(table.toString());
    const Case& first = cases.front();
    printResult(fmt::format("\nCritical path of the first row, {} of {} steps:\n",
                            first.prediction.criticalPath.size(), first.plan->steps.size()));
    constexpr std::size_t kMost = 12;
    TextTable path({left, left, right, left}, 2);
    std::vector<std::uint32_t> longest = first.prediction.criticalPath;
    if (longest.size() > kMost) {
        std::vector<std::uint32_t> byTime = longest;
        std::nth_element(byTime.begin(), byTime.begin() + kMost, byTime.end(), [&](auto a, auto b) {
            return first.plan->steps[a].predictedNs > first.plan->steps[b].predictedNs;
        });
        byTime.resize(kMost);
        std::erase_if(longest,
                      [&](auto s) { return std::find(byTime.begin(), byTime.end(), s) == byTime.end(); });
    }
    for (const std::uint32_t s : longest) {
        const Step& step = first.plan->steps[s];
        path.add(
            {step.label, first.plan->streams[step.stream].label, formatMs(step.predictedNs), "modelled"});
    }
    if (longest.size() < first.prediction.criticalPath.size())
        path.add(
            {fmt::format("… and {} shorter steps", first.prediction.criticalPath.size() - longest.size())});
    printResult(path.toString());
    for (const Case& each : cases)
        if (each.plan)
            printResult(
                fmt::format("{}: modelled {}.\n", devicesOf(each), printable(each.prediction.sources)));
    if (!first.prediction.isComplete)
        printResult("Sizes and iteration counts that are known only at run time count as 0.\n");
}

ExitCode predictAll(const PredictOptions& options) {
    std::vector<Case> cases;
    cases.push_back(predictCase(options, options.placement,
                                fmt::format("{}", fmt::join(options.placement.deviceMap, " ")), false));
    for (const std::string& text : options.whatIf) {
        PlacementOptions placement = options.placement;
        // Replaces the named device; the rest stays as given.
        const std::string device = text.substr(0, text.find('='));
        if (constexpr std::string_view world = "world="; text.starts_with(world)) {
            placement.world = text.substr(world.size());
            cases.push_back(predictCase(options, placement, text, true));
            continue;
        }
        std::erase_if(placement.deviceMap,
                      [&](const std::string& given) { return given.substr(0, given.find('=')) == device; });
        placement.deviceMap.push_back(text);
        cases.push_back(predictCase(options, placement, text, true));
    }
    if (!options.json) {
        print(cases);
        return ExitCode::fine;
    }
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Case& each : cases) list.push_back(toJson(each));
    const nlohmann::ordered_json out{{"schema", 1}, {"file", options.file}, {"cases", list}};
    printJson(out);
    return ExitCode::fine;
}

} // namespace

void addPredictCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<PredictOptions>();
    CLI::App* command =
        app.add_subcommand("predict", "Predict the time of an iteration, on these devices and on others");
    command->add_option("FILE", options->file, "The project (.twb)")->required();
    options->placement.addTo(*command, false);
    options->placement.addWorldTo(*command);
    command
        ->add_option("--what-if", options->whatIf,
                     "Also predict for this device or link: cuda:0=simulated:t4 or world=simulated:4:nvlink")
        ->type_name("DEVICE=WHAT")
        ->take_all()
        ->allow_extra_args(false);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--json", options->json, "Print JSON instead of text");
    command->callback([options, &exit] { exit = predictAll(*options); });
}

} // namespace twb
