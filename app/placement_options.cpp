#include "app/placement_options.h"

#include "profile/profiles.h"
#include "profile/resource_path.h"

#include <algorithm>

namespace twb {

void PlacementOptions::addTo(CLI::App& command, bool withRequireGpu) {
    command
        .add_option(
            "--policy", policy,
            "What an operand on another device means: strict (an error, as in PyTorch) or implicit (a copy, "
            "as in TensorFlow); default: what the file says")
        ->check(CLI::IsMember({"strict", "implicit"}));
    command
        .add_option(
            "--device-map", deviceMap,
            "What stands behind a device: cuda:0=simulated:h200 or cuda:0=real; `twb devices` lists the "
            "profiles")
        ->type_name("DEVICE=WHAT")
        ->take_all()
        ->allow_extra_args(false);
    if (withRequireGpu)
        command.add_flag("--require-gpu", requireGpu,
                         "Fail with 5 rather than simulate a GPU that is not here");
}

Policy PlacementOptions::policyFor(const Graph& graph) const {
    return parsePolicy(policy).value_or(graph.info().policy);
}

DeviceMap PlacementOptions::devicesFor(const Graph& graph) const {
    const bool onlyCpu = std::all_of(graph.lanes().begin(), graph.lanes().end(),
                                     [](const Lane& lane) { return lane.device.isCpu(); });
    // Nothing to simulate: the profiles need not be read.
    if (onlyCpu && deviceMap.empty()) return {};
    std::vector<DeviceChoice> choices;
    for (const std::string& choice : deviceMap) choices.push_back(parseDeviceChoice(choice));
    return makeDeviceMap(graph, choices, ProfileLibrary(resourceFolder() / "devices"), requireGpu);
}

} // namespace twb
